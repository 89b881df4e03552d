import { describe, expect, test } from "vitest";
import {
  decideReplacement,
  isDegraded,
  type MachineSight,
  machineState,
  replacedAfterAsks,
  replacedAfterMs,
  silentAfterAsks,
  silentAfterMs,
} from "./machine-health.ts";
import { decideRound, type RoundMachine } from "./round.ts";
import { loadBalancerStatus, type StatusFacts, statusReason } from "./status.ts";

describe("a change of two machines", () => {
  const machines = (one: Partial<RoundMachine>, two: Partial<RoundMachine>): RoundMachine[] => [
    { slot: 1, role: "active", outcome: "waiting", ...one },
    { slot: 2, role: "standby", outcome: "waiting", ...two },
  ];
  test.each([
    ["begins with the one that nobody uses", {}, {}, { next: "change", slot: 2 }],
    ["goes on with the one that has the address", {}, { outcome: "applied" }, { next: "change", slot: 1 }],
    ["is done when both have it", { outcome: "applied" }, { outcome: "applied" }, { next: "done" }],
    ["ends at the first that refuses", {}, { outcome: "refused" }, { next: "stop", refusedBy: 2 }],
    ["does not wait for a silent one", {}, { outcome: "silent" }, { next: "change", slot: 1 }],
    [
      "is incomplete without a silent one",
      { outcome: "applied" },
      { outcome: "silent" },
      { next: "incomplete", silent: [2] },
    ],
    [
      "begins with the first when no role is known",
      { role: null },
      { role: null },
      { next: "change", slot: 1 },
    ],
    [
      "leaves the active one for last when the other's role is unknown",
      {},
      { role: null },
      { next: "change", slot: 2 },
    ],
  ] as const)("%s", (_, one, two, expected) => {
    expect(decideRound(machines(one, two))).toEqual(expected);
  });
});

describe("machines", () => {
  const now = 1_000_000_000;
  const machine = (slot: 1 | 2, more: Partial<MachineSight> = {}): MachineSight => ({
    slot,
    serverId: `srv_${slot}`,
    answeredAtMs: now,
    askedAtMs: now,
    unansweredAsks: 0,
    createdAtMs: 0,
    isGone: false,
    observedGeneration: 3,
    ...more,
  });
  const rounds = { lastRoundAtMs: now, nowMs: now };
  const silent = { answeredAtMs: now - replacedAfterMs, unansweredAsks: replacedAfterAsks };
  const lately = { answeredAtMs: now - silentAfterMs, unansweredAsks: silentAfterAsks };

  test.each([
    ["serving", {}],
    ["behind", { observedGeneration: 2 }],
    ["creating", { observedGeneration: 0 }],
    ["creating", { serverId: null }],
    ["silent", lately],
    ["silent", { isGone: true }],
    ["serving", { ...lately, answeredAtMs: now - silentAfterMs + 1 }],
    ["serving", { ...lately, unansweredAsks: silentAfterAsks - 1 }],
  ] as const)("are %s: %j", (expected, more) => {
    expect(machineState(machine(1, more), 3)).toBe(expected);
  });

  test("are degraded when one of two is silent, gone or being made", () => {
    expect(isDegraded([machine(1), machine(2)], true)).toBe(false);
    for (const more of [lately, { isGone: true }, { serverId: null }])
      expect(isDegraded([machine(1), machine(2, more)], true)).toBe(true);
    expect(isDegraded([machine(1)], true)).toBe(true);
    expect(isDegraded([machine(1)], false)).toBe(false);
  });

  test("are replaced after five minutes without an answer, one at a time", () => {
    expect(decideReplacement([machine(1), machine(2, silent)], true, rounds)).toBe(2);
    expect(decideReplacement([machine(1), machine(2, lately)], true, rounds)).toBe(null);
    expect(decideReplacement([machine(1), machine(2, { isGone: true })], true, rounds)).toBe(2);
  });

  test("that have never answered are not replaced again and again", () => {
    const never = { answeredAtMs: null, observedGeneration: 0 };
    expect(decideReplacement([machine(1), machine(2, never)], true, rounds)).toBe(null);
    expect(decideReplacement([machine(1), machine(2, { ...never, isGone: true })], true, rounds)).toBe(2);
  });

  test("are not replaced while the other one does not serve either", () => {
    for (const other of [silent, lately, { isGone: true }, { serverId: null }, { observedGeneration: 0 }])
      expect(decideReplacement([machine(1, other), machine(2, silent)], true, rounds)).toBe(null);
    expect(decideReplacement([machine(2, silent)], true, rounds)).toBe(null);
  });

  test("are not replaced because the region has not asked them", () => {
    const stale = { lastRoundAtMs: now, nowMs: now + silentAfterMs };
    expect(decideReplacement([machine(1), machine(2, silent)], true, stale)).toBe(null);
    const asked = { ...silent, askedAtMs: now - replacedAfterMs - 1, answeredAtMs: now - replacedAfterMs };
    expect(machineState(machine(1, asked), 3)).toBe("serving");
    expect(decideReplacement([machine(1), machine(2, asked)], true, rounds)).toBe(null);
    expect(decideReplacement([machine(1), machine(2, { ...silent, askedAtMs: null })], true, rounds)).toBe(
      null,
    );
    expect(
      decideReplacement([machine(1), machine(2, silent)], true, { lastRoundAtMs: null, nowMs: now }),
    ).toBe(null);
  });

  test("are not replaced because they did not answer a few times after the agent was away", () => {
    const missed = { answeredAtMs: now - 100 * replacedAfterMs, unansweredAsks: replacedAfterAsks - 1 };
    expect(decideReplacement([machine(1), machine(2, missed)], true, rounds)).toBe(null);
  });

  test("that are alone are replaced only when their VM is gone", () => {
    expect(decideReplacement([machine(1, silent)], false, rounds)).toBe(null);
    expect(decideReplacement([machine(1, { isGone: true })], false, rounds)).toBe(1);
  });
});

describe("a load balancer's status", () => {
  const applied: StatusFacts = {
    isDeleting: false,
    hasOpenJob: false,
    generation: 3,
    observedGeneration: 3,
    failure: null,
    isDegraded: false,
    resize: "none",
  };
  const refused = { generation: 4, failure: "configuration_refused" } as const;
  test.each<[string, Partial<StatusFacts>, string | null]>([
    ["active", {}, null],
    ["provisioning", { observedGeneration: 0, hasOpenJob: true, isDegraded: true }, null],
    ["provisioning", { observedGeneration: 0, failure: "apply_failed", hasOpenJob: true }, null],
    ["error", { observedGeneration: 0, failure: "apply_failed" }, "provisioning_failed"],
    ["updating", { generation: 4, hasOpenJob: true }, null],
    ["active", refused, "configuration_refused"],
    ["active", { generation: 4, failure: "apply_failed" }, "apply_failed"],
    ["updating", { ...refused, hasOpenJob: true }, null],
    ["degraded", { isDegraded: true }, "machine_silent"],
    ["degraded", { isDegraded: true, generation: 4, hasOpenJob: true }, "machine_silent"],
    ["degraded", { isDegraded: true, ...refused }, "configuration_refused"],
    ["updating", { resize: "ongoing" }, null],
    ["updating", { resize: "waiting" }, "resize_waiting"],
    ["active", { resize: "failed" }, "resize_failed"],
    ["degraded", { resize: "ongoing", isDegraded: true }, "machine_silent"],
    ["degraded", { resize: "failed", isDegraded: true }, "resize_failed"],
    ["provisioning", { resize: "ongoing", observedGeneration: 0, hasOpenJob: true }, null],
    ["deleting", { isDeleting: true, isDegraded: true, failure: "apply_failed" }, "machine_silent"],
  ])("is %s: %j", (status, more, code) => {
    expect(loadBalancerStatus({ ...applied, ...more })).toBe(status);
    expect(statusReason({ ...applied, ...more })?.code ?? null).toBe(code);
  });
});
