// The changes from a VM's present firewall to the wanted one, in an order in which no moment is worse than
// both. There is no transaction: each call is a state of its own, and a crash may leave any of them.
//
// At every moment each packet is treated as before the change or as after it, and never a third way: new
// rules are created at their position but disabled, and enabled from the first to the last; then the options
// change; then the old rules are deleted from the last to the first.

import { canonicalBlock } from "./address-block.ts";
import type { DesiredFirewall, FirewallOptions, SeenFirewall } from "./vm-firewall.ts";
import { type FirewallRuleText, isRuleNote, type SeenRule, textOfRule } from "./vm-firewall-rule.ts";

/** One changing call of the firewall, as data, so that a difference can be compared in a test. */
export type FirewallChange =
  | { readonly do: "create-ipset"; readonly name: string }
  | { readonly do: "delete-ipset"; readonly name: string }
  | { readonly do: "add-address"; readonly name: string; readonly cidr: string }
  | { readonly do: "remove-address"; readonly name: string; readonly cidr: string }
  /** At the top, where Proxmox VE puts every new one; switched off. */
  | { readonly do: "create-rule"; readonly rule: FirewallRuleText }
  /** To the position before the rule that is at `before` now. */
  | { readonly do: "move-rule"; readonly position: number; readonly before: number }
  | { readonly do: "enable-rule"; readonly position: number }
  | { readonly do: "delete-rule"; readonly position: number }
  | { readonly do: "set-options"; readonly options: FirewallOptions };

/**
 * The next change; null when the firewall is as wanted. It depends on nothing but the present state: so a run
 * that was killed anywhere, or overtaken by another one, continues without knowing what was done.
 */
export function nextFirewallChange(desired: DesiredFirewall, seen: SeenFirewall): FirewallChange | null {
  const [first] = addressChanges(desired, seen);
  const unused = Object.keys(seen.ipsets).find((name) => !(name in desired.ipsets));
  return (
    first ??
    nextRuleChange(desired, seen) ??
    (unused === undefined ? null : { do: "delete-ipset", name: unused })
  );
}

function addressChanges(desired: DesiredFirewall, seen: SeenFirewall): FirewallChange[] {
  const changes: FirewallChange[] = [];
  for (const [name, addresses] of Object.entries(desired.ipsets)) {
    const has = seen.ipsets[name];
    if (!has) changes.push({ do: "create-ipset", name });
    const present = has ?? [];
    const [wanted, there] = [addresses, present].map((each) => new Set(each.map(canonicalBlock)));
    const surplus = present.filter((cidr) => !wanted?.has(canonicalBlock(cidr)));
    // An excluded entry prevents the same entry from being added to the set.
    const [leftOut, others] = [true, false].map((is) =>
      surplus.filter((cidr) => cidr.startsWith("!") === is),
    );
    for (const cidr of leftOut ?? []) changes.push({ do: "remove-address", name, cidr });
    for (const cidr of addresses)
      if (!there?.has(canonicalBlock(cidr))) changes.push({ do: "add-address", name, cidr });
    for (const cidr of others ?? []) changes.push({ do: "remove-address", name, cidr });
  }
  return changes;
}

type RulesState = Pick<SeenFirewall, "rules" | "options">;
type RuleChange = Extract<
  FirewallChange,
  { do: "create-rule" | "move-rule" | "enable-rule" | "delete-rule" | "set-options" }
>;

function nextRuleChange(
  desired: Pick<DesiredFirewall, "rules" | "options">,
  { rules: all, options }: RulesState,
): RuleChange | null {
  const last = all.at(-1);
  const rules = last !== undefined && isRuleNote(last) ? all.slice(0, -1) : all;
  const wanted = desired.rules.map((rule) => textOfRule(rule));
  const live = rules.flatMap(({ text, isEnabled }, position) => (isEnabled ? [{ text, position }] : []));
  const same = prefixLength(live, wanted);
  const tail = suffixLength(live.slice(same), wanted.slice(same));
  const missing = wanted.slice(same, wanted.length - tail);
  const surplus = live.slice(same, live.length - tail);
  const first = same === 0 ? 0 : (live[same - 1]?.position ?? 0) + 1;
  if (missing.length > 0) return stage(desired.rules, rules, { first, missing, same });
  // The disabled rule that was to be next is already in its position, or no longer wanted.
  const idle = rules.findLastIndex(({ isEnabled }) => !isEnabled);
  if (idle !== -1) return { do: "delete-rule", position: idle };
  const differs = (Object.keys(desired.options) as (keyof FirewallOptions)[]).some(
    (key) => desired.options[key] !== options[key],
  );
  const lowest = surplus.at(-1);
  // Rules of a firewall that is off mean nothing, and are not to mean anything when it is switched on.
  if (differs && (options.enable || lowest === undefined))
    return { do: "set-options", options: desired.options };
  return lowest === undefined ? null : { do: "delete-rule", position: lowest.position };
}

type Stage = {
  /** Where the missing rules belong. */
  readonly first: number;
  readonly missing: readonly string[];
  /** How many of the wanted rules precede them. */
  readonly same: number;
};

/** Brings the missing rules into their places, switched off, the last of them first; then switches on the first. */
function stage(
  desired: readonly FirewallRuleText[],
  rules: readonly SeenRule[],
  { first, missing, same }: Stage,
): RuleChange {
  const afterRun = rules.findIndex(({ isEnabled }, index) => index >= first && isEnabled);
  const run = rules.slice(first, afterRun === -1 ? rules.length : afterRun);
  const isStaged = run.every(({ text }, index) => text === missing[missing.length - run.length + index]);
  if (run.length > missing.length || !isStaged) return { do: "delete-rule", position: first };
  const next = missing.length - run.length - 1;
  const idle = rules.findLastIndex(
    ({ isEnabled }, index) => !isEnabled && (index < first || index >= first + run.length),
  );
  // Created a moment ago, at the top: not yet moved.
  if (idle === 0 && next >= 0 && rules[0]?.text === missing[next])
    return { do: "move-rule", position: 0, before: first };
  if (idle !== -1) return { do: "delete-rule", position: idle };
  const rule = desired[same + next];
  if (next >= 0 && rule !== undefined) return { do: "create-rule", rule };
  return { do: "enable-rule", position: first };
}

function prefixLength(live: readonly { readonly text: string | null }[], wanted: readonly string[]): number {
  const end = live.findIndex(({ text }, index) => text !== wanted[index]);
  return end === -1 ? live.length : end;
}

function suffixLength(live: readonly { readonly text: string | null }[], wanted: readonly string[]): number {
  const end = Math.min(live.length, wanted.length);
  for (let length = 0; length < end; length += 1)
    if (live.at(-1 - length)?.text !== wanted.at(-1 - length)) return length;
  return end;
}

function afterRuleChange(state: RulesState, change: RuleChange): RulesState {
  const rules = [...state.rules];
  switch (change.do) {
    case "set-options":
      return { ...state, options: change.options };
    case "create-rule":
      return { ...state, rules: [{ text: textOfRule(change.rule), isEnabled: false }, ...rules] };
    case "delete-rule":
      return { ...state, rules: rules.toSpliced(change.position, 1) };
    case "enable-rule":
      return {
        ...state,
        rules: rules.map((rule, index) => (index === change.position ? { ...rule, isEnabled: true } : rule)),
      };
    case "move-rule": {
      const [moved] = rules.splice(change.position, 1);
      if (moved === undefined) return state;
      rules.splice(change.before > change.position ? change.before - 1 : change.before, 0, moved);
      return { ...state, rules };
    }
  }
}

/** Whether the positions of the rules are others after it. */
export const isRuleChange = (change: FirewallChange): boolean => change.do.endsWith("-rule");

/** The state after the change, as Proxmox VE makes it. */
export function afterFirewallChange(seen: SeenFirewall, change: FirewallChange): SeenFirewall {
  const { ipsets } = seen;
  switch (change.do) {
    case "create-ipset":
      return { ...seen, ipsets: { ...ipsets, [change.name]: [] } };
    case "delete-ipset":
      return {
        ...seen,
        ipsets: Object.fromEntries(Object.entries(ipsets).filter(([name]) => name !== change.name)),
      };
    case "add-address":
      return { ...seen, ipsets: { ...ipsets, [change.name]: [...(ipsets[change.name] ?? []), change.cidr] } };
    case "remove-address":
      return {
        ...seen,
        ipsets: {
          ...ipsets,
          [change.name]: (ipsets[change.name] ?? []).filter((cidr) => cidr !== change.cidr),
        },
      };
    default:
      return { ...seen, ...afterRuleChange(seen, change) };
  }
}
