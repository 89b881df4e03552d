// Which job has changed a VM's rules last, written among them: the last rule, which is never on and whose comment names
// the job. Proxmox VE takes the digest of the rules that a writer has read; without this the rules of today can be what
// they were before, and a request of long ago, which was given up or arrives once more, would fit them again.

import { parseJobNote, withChangeNoted } from "./job-note.ts";
import type { DesiredFirewall, SeenFirewall } from "./vm-firewall.ts";
import { type FirewallChange, isRuleChange, nextFirewallChange } from "./vm-firewall-difference.ts";
import { type FirewallRuleText, isRuleNote, type SeenRule, wordsOfRule } from "./vm-firewall-rule.ts";

/** The change that comes next, with the job's note before the first one of the rules. */
export function nextNotedChange(
  desired: DesiredFirewall,
  seen: SeenFirewall,
  jobId: string,
): FirewallChange | null {
  const change = nextFirewallChange(desired, seen);
  if (change === null || !isRuleChange(change)) return change;
  const { rules } = seen;
  const last = rules.at(-1);
  if (last !== undefined && jobOfNote(last) === jobId) return change;
  // Every new rule comes at the top.
  if (rules[0] !== undefined && jobOfNote(rules[0]) === jobId)
    return { do: "move-rule", position: 0, before: rules.length };
  return { do: "create-rule", rule: noteOfJob(last, jobId) };
}

/** Null of a rule that is no note. */
function jobOfNote(rule: SeenRule): string | null {
  return isRuleNote(rule) ? (parseJobNote(commentOf(rule))?.jobId ?? null) : null;
}

/** Turns are counted from the note that is there: a job may be tried again after another one has changed the rules. */
function noteOfJob(last: SeenRule | undefined, jobId: string): FirewallRuleText {
  const before = last !== undefined && isRuleNote(last) ? commentOf(last) : undefined;
  return { type: "in", action: "DROP", comment: withChangeNoted(before, jobId) };
}

const commentOf = ({ text }: SeenRule): string | undefined =>
  text === null ? undefined : wordsOfRule(text).comment;
