import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  antiSpoofing,
  type DesiredFirewall,
  type FirewallOptions,
  type SeenFirewall,
} from "./vm-firewall.ts";
import { afterFirewallChange, type FirewallChange, nextFirewallChange } from "./vm-firewall-difference.ts";
import { type FirewallRuleText, seenRule, textOfRule } from "./vm-firewall-rule.ts";

/** All changes that it takes, and every state on the way, the first and the last included. */
function allChanges(desired: DesiredFirewall, from: SeenFirewall) {
  const changes: FirewallChange[] = [];
  const states = [from];
  for (let seen = from; ; ) {
    const change = nextFirewallChange(desired, seen);
    if (change === null) return { changes, states };
    if (changes.length > 2_000) throw new Error(`no end: ${JSON.stringify(changes.slice(-20))}`);
    changes.push(change);
    seen = afterFirewallChange(seen, change);
    states.push(seen);
  }
}

const wanted = antiSpoofing([{ index: 0, addresses: ["10.0.0.5"] }]);
const untouched: SeenFirewall = {
  options: { ...wanted.options, enable: false, ipfilter: false, policy_in: "DROP" },
  ipsets: {},
  rules: [],
  rulesDigest: null,
};

describe("The firewall of a new VM", () => {
  it("gets its addresses before the filter that needs them", () => {
    expect(allChanges(wanted, untouched).changes.map((change) => change.do)).toEqual([
      "create-ipset",
      "add-address",
      "set-options",
    ]);
  });

  it("loses what the template's firewall file brought", () => {
    const inherited: SeenFirewall = {
      ...wanted,
      ipsets: { "ipfilter-net0": ["10.0.0.5/32", "10.9.9.9"], old: ["1.2.3.4"] },
      rules: [
        seenRule({ pos: 0, type: "in", action: "ACCEPT", macro: "SSH", enable: 1 }),
        seenRule({ pos: 1, type: "group", action: "web", enable: 1 }),
      ],
      rulesDigest: "d",
    };
    expect(allChanges(wanted, inherited).changes).toEqual([
      { do: "remove-address", name: "ipfilter-net0", cidr: "10.9.9.9" },
      { do: "delete-rule", position: 1 },
      { do: "delete-rule", position: 0 },
      { do: "delete-ipset", name: "old" },
    ]);
    expect(allChanges(wanted, { ...wanted, rules: [], rulesDigest: null }).changes).toEqual([]);
  });

  it("has its rules before it is switched on, and none that were there", () => {
    const filtered: DesiredFirewall = {
      ...wanted,
      rules: [{ type: "in", action: "ACCEPT", comment: "fwr_1" }],
    };
    const inherited = { ...untouched, rules: [seenRule({ type: "in", action: "ACCEPT", enable: 1 })] };
    expect(allChanges(filtered, inherited).changes.map((change) => change.do)).toEqual([
      "create-ipset",
      "add-address",
      "create-rule",
      "enable-rule",
      "delete-rule",
      "set-options",
    ]);
  });
});

const sources = ["a", "b", "c"] as const;
type Direction = "in" | "out";

const anyRule: fc.Arbitrary<FirewallRuleText> = fc
  .record({
    type: fc.constantFrom<Direction>("in", "out"),
    action: fc.constantFrom<"ACCEPT" | "DROP">("ACCEPT", "DROP"),
    source: fc.option(fc.constantFrom(...sources)),
  })
  .map(({ source, ...rule }) => ({ ...rule, ...(source === null ? {} : { source }), comment: "r" }));

const optionsOf = (policy_in: "ACCEPT" | "DROP"): FirewallOptions => ({ ...wanted.options, policy_in });
const anyFirewall: fc.Arbitrary<DesiredFirewall> = fc
  .record({
    rules: fc.array(anyRule, { maxLength: 6 }),
    policy: fc.constantFrom<"ACCEPT" | "DROP">("ACCEPT", "DROP"),
  })
  .map(({ rules, policy }) => ({ rules, options: optionsOf(policy), ipsets: {} }));
/** As it was left, with idle rules between the others as a crash may leave them. */
const anySeen: fc.Arbitrary<SeenFirewall> = fc
  .record({
    rules: fc.array(fc.tuple(anyRule, fc.boolean()), { maxLength: 7 }),
    policy: fc.constantFrom<"ACCEPT" | "DROP">("ACCEPT", "DROP"),
    enable: fc.boolean(),
  })
  .map(({ rules, policy, enable }) => ({
    rules: rules.map(([rule, isEnabled]) => ({ text: textOfRule(rule), isEnabled })),
    options: { ...optionsOf(policy), enable },
    ipsets: {},
    rulesDigest: null,
  }));

/** The result for a packet of each direction and source. */
function verdicts({ rules, options }: Pick<SeenFirewall, "rules" | "options">): string[] {
  return (["in", "out"] as const).flatMap((direction) =>
    sources.map((source) => {
      if (!options.enable) return "ACCEPT";
      const hit = rules
        .filter(({ isEnabled }) => isEnabled)
        .map(({ text }) => JSON.parse(text ?? "") as (string | null)[])
        .find(([type, , , , from]) => type === direction && (from === null || from === source));
      return hit?.[1] ?? (direction === "in" ? options.policy_in : options.policy_out);
    }),
  );
}

/** Packets that some state on the way treats neither as the first nor as the last one does. */
function thirdWays(states: readonly SeenFirewall[]): string[] {
  const all = states.map(verdicts);
  return all.flatMap((verdict, index) =>
    verdict.flatMap((each, packet) =>
      each === all[0]?.[packet] || each === all.at(-1)?.[packet]
        ? []
        : [`packet ${packet} in state ${index}`],
    ),
  );
}

describe("A firewall that changes under traffic", () => {
  it("treats every packet as before or as after at every moment, from whatever it is found in", () => {
    fc.assert(
      fc.property(anySeen, anyFirewall, (seen, desired) => {
        const { states } = allChanges(desired, seen);
        expect(thirdWays(states)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("ends with exactly the rules that are wanted, all of them on", () => {
    fc.assert(
      fc.property(anySeen, anyFirewall, (seen, desired) => {
        const end = allChanges(desired, seen).states.at(-1);
        expect(end?.rules).toEqual(
          desired.rules.map((rule) => ({ text: textOfRule(rule), isEnabled: true })),
        );
        expect(end?.options).toEqual(desired.options);
      }),
    );
  });

  it("reaches another state from any interruption", () => {
    fc.assert(
      fc.property(anySeen, anyFirewall, anyFirewall, fc.nat(20), (seen, first, second, stoppedAt) => {
        const { states } = allChanges(first, seen);
        const left = states[Math.min(stoppedAt, states.length - 1)] ?? seen;
        expect(thirdWays(allChanges(second, left).states)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("does not move the rules that stay in their positions", () => {
    const rule = (comment: string): FirewallRuleText => ({ type: "in", action: "ACCEPT", comment });
    const has = ["1", "2", "3"].map((each) => ({ text: textOfRule(rule(each)), isEnabled: true }));
    const desired: DesiredFirewall = { ...wanted, rules: ["1", "new", "3"].map(rule) };
    const { changes } = allChanges(desired, { ...wanted, rules: has, rulesDigest: null });
    expect(changes).toEqual([
      { do: "create-rule", rule: rule("new") },
      { do: "move-rule", position: 0, before: 2 },
      { do: "enable-rule", position: 1 },
      { do: "delete-rule", position: 2 },
    ]);
  });
});

describe("A rule", () => {
  it("is the same when it means the same, however it was listed", () => {
    const rule: FirewallRuleText = {
      type: "in",
      action: "ACCEPT",
      proto: "tcp",
      dport: "22",
      comment: "fwr_1",
    };
    const listed = { ...rule, comment: "fwr_1\n", pos: 3, enable: "1", digest: "d", ipversion: 4 };
    expect(seenRule(listed)).toEqual({ text: textOfRule(rule), isEnabled: true });
    expect(seenRule({ ...listed, enable: 0 }).isEnabled).toBe(false);
    expect(seenRule({ ...listed, log: "info" }).text).toBeNull();
  });
});
