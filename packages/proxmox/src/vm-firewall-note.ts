// The job that has changed a VM's rules last, written among them: the last rule, which is never enabled and
// whose comment names the job. Proxmox VE checks the digest of the rules that a writer has read; without this
// note the present rules could be equal to earlier ones, and an old request, which was given up or arrives
// twice, would be accepted again.

import { parseJobNote, withChangeNoted } from "./job-note.ts";
import type { DesiredFirewall, SeenFirewall } from "./vm-firewall.ts";
import { type FirewallChange, isRuleChange, nextFirewallChange } from "./vm-firewall-difference.ts";
import { type FirewallRuleText, fieldsOfRule, isRuleNote, type SeenRule } from "./vm-firewall-rule.ts";

/** The next change, with the job's note before the first one of the rules. */
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
  // Every new rule is inserted at the top.
  if (rules[0] !== undefined && jobOfNote(rules[0]) === jobId)
    return { do: "move-rule", position: 0, before: rules.length };
  return { do: "create-rule", rule: noteOfJob(last, jobId) };
}

/** Null of a rule that is no note. */
function jobOfNote(rule: SeenRule): string | null {
  return isRuleNote(rule) ? (parseJobNote(commentOf(rule))?.jobId ?? null) : null;
}

/** Turns are counted from the present note: a job may be retried after another one has changed the rules. */
function noteOfJob(last: SeenRule | undefined, jobId: string): FirewallRuleText {
  const before = last !== undefined && isRuleNote(last) ? commentOf(last) : undefined;
  return { type: "in", action: "DROP", comment: withChangeNoted(before, jobId) };
}

const commentOf = ({ text }: SeenRule): string | undefined =>
  text === null ? undefined : fieldsOfRule(text).comment;
