// One rule of a VM's firewall: its text, and whether it is enabled. A rule has no name of its own in Proxmox
// VE, only a position, which changes with every added or deleted rule: two rules are the same when their
// texts are.

import type { PveBoolean } from "./generated/api.ts";
import { parseJobNote } from "./job-note.ts";
import { readBoolean } from "./lenient.ts";

/**
 * The text of a rule of ours. `source` and `dest` are one address or block, or `+` and the name of an ipset.
 */
export type FirewallRuleText = {
  readonly type: "in" | "out";
  readonly action: "ACCEPT" | "DROP";
  readonly proto?: string;
  readonly dport?: string;
  readonly source?: string;
  readonly dest?: string;
  readonly iface?: string;
  /** The id of the rule that it was created from. */
  readonly comment: string;
};

export type SeenRule = {
  /** Its text as one string, to be compared; null when it has options that no rule of ours has. */
  readonly text: string | null;
  readonly isEnabled: boolean;
};

const KEYS = ["type", "action", "proto", "dport", "source", "dest", "iface", "comment"] as const;
const KNOWN: ReadonlySet<string> = new Set([...KEYS, "pos", "enable", "digest", "ipversion"]);

/** The rule as one string: equal when the rules are. */
export function textOfRule(
  rule: Readonly<Partial<Record<(typeof KEYS)[number], string | undefined>>>,
): string {
  return JSON.stringify(KEYS.map((key) => rule[key]?.trimEnd() ?? null));
}

/** The fields of a rule's text, by name. */
export function fieldsOfRule(text: string): Readonly<Partial<Record<(typeof KEYS)[number], string>>> {
  const values = JSON.parse(text) as (string | null)[];
  return Object.fromEntries(
    KEYS.flatMap((key, index) => (values[index] == null ? [] : [[key, values[index]]])),
  );
}

/** Whether the rule is only a job's note: see `vm-firewall-note.ts`. */
export function isRuleNote({ text, isEnabled }: SeenRule): boolean {
  return !isEnabled && text !== null && parseJobNote(fieldsOfRule(text).comment) !== null;
}

/** A rule as the hypervisor lists it. */
export function seenRule(listed: Readonly<Record<string, unknown>>): SeenRule {
  const isEnabled = readBoolean(listed.enable as PveBoolean | undefined);
  const isStrange = Object.keys(listed).some((key) => !KNOWN.has(key) && listed[key] !== undefined);
  return { isEnabled, text: isStrange ? null : textOfRule(listed as Record<string, string>) };
}
