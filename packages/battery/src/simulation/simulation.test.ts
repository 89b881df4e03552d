import { describe, expect, it } from "vitest";
import { VirtualClock } from "./clock.ts";
import { ControlPlaneModel } from "./control-plane.ts";
import { Dice } from "./dice.ts";
import { drawCallOutcome, drawFaults, QUIET } from "./fault-plan.ts";
import { createServer } from "./model-requests.ts";
import { Simulation } from "./simulation.ts";

describe("The clock", () => {
  it("runs all that can continue before time moves, and events of one time in their order", async () => {
    const clock = new VirtualClock(1_000);
    const seen: string[] = [];
    const later = async (name: string, milliseconds: number) => {
      await new Promise<void>((resolve) => void clock.after(milliseconds, resolve));
      for (let turn = 0; turn < 50; turn++) await null;
      seen.push(`${name} at ${clock.now()}`);
    };
    void later("b", 20);
    void later("a", 10);
    void later("a again", 10);
    void later("late", 500);
    expect(await clock.runUntil(() => false, 1_100)).toBe(false);
    expect(seen).toEqual(["a at 1010", "a again at 1010", "b at 1020"]);
    expect(await clock.runUntil(() => seen.length === 4, 5_000)).toBe(true);
  });

  it("drops what was cancelled", async () => {
    const clock = new VirtualClock(0);
    let rang = false;
    clock.after(5, () => {
      rang = true;
    })();
    await clock.runUntil(() => false, 100);
    expect(rang).toBe(false);
  });
});

describe("A seed", () => {
  it("is the same every time, and not the same as the next", async () => {
    const hash = async (seed: number) => (await new Simulation(seed).run()).hash;
    for (const seed of [11, 12, 13, 14]) expect(await hash(seed)).toBe(await hash(seed));
    expect(await hash(11)).not.toBe(await hash(12));
  });

  it("runs real jobs to their end", async () => {
    let [jobs, calls] = [0, 0];
    for (let seed = 100; seed < 120; seed++) {
      const { counts, violations } = await new Simulation(seed).run();
      expect(violations).toEqual([]);
      jobs += counts.jobs;
      calls += counts.hypervisorCalls;
    }
    expect(calls).toBeGreaterThan(10 * jobs);
    expect(jobs).toBeGreaterThan(20);
  });
});

describe("Trouble", () => {
  it("is drawn in all its kinds", () => {
    const plans = Array.from({ length: 400 }, (_, seed) => drawFaults(new Dice(seed)));
    for (const key of [
      "crashAtPoint",
      "pauseAtPoint",
      "taskFault",
      "strangers",
      "edits",
      "skewSeconds",
    ] as const)
      expect(plans.some((plan) => plan[key] > 0)).toBe(true);
    for (const key of ["apiAway", "noQuorum", "kills", "sleeps", "restarts"] as const)
      expect(plans.some((plan) => plan[key].length > 0)).toBe(true);
    const dice = new Dice(1);
    const fates = plans.flatMap(({ api }) => Array.from({ length: 50 }, () => drawCallOutcome(api, dice)));
    expect(new Set(fates).size).toBe(8);
    expect(Array.from({ length: 100 }, () => drawCallOutcome(QUIET, dice))).not.toContain("twice");
  });
});

describe("The model of the control plane", () => {
  const settings = {
    leaseSeconds: 90,
    removalBufferSeconds: 300,
    vmidRange: { first: 20_000, last: 20_009 },
    addresses: 10,
    publicIps: 1,
    firewalls: 1,
  };

  it("hands a job to a second holder only when its lease is over, and listens to one of them", () => {
    let now = 0;
    const model = new ControlPlaneModel(
      settings,
      () => now,
      () => 0.5,
    );
    createServer(model);
    now = 1;
    const ask = (claim_id: string) =>
      model.claim({ claim_id, agent_version: "0", capabilities: ["ServerCreate"] });
    const first = ask("claim-one");
    expect(first).toMatchObject({ epoch: 1 });
    expect(ask("claim-one")).toMatchObject({ epoch: 1 });
    expect(ask("claim-two")).toBeNull();
    now = 90_002;
    expect(ask("claim-two")).toMatchObject({ epoch: 2, attempt: 2 });
    const id = first?.id ?? "";
    expect(model.report(id, { epoch: 1, seq: 1 })).toEqual({ status: 409, code: "stale_lease" });
    expect(model.report(id, { epoch: 2, seq: 1 })).toMatchObject({ status: 200 });
  });
});
