import { describe, expect, it } from "vitest";
import { backoffMilliseconds } from "./backoff.ts";
import { Lease } from "./lease.ts";
import { type AgentRuntime, agentRuntime } from "./runtime.ts";

function clock(): AgentRuntime & { at: number } {
  const runtime = { ...agentRuntime, at: 0, monotonic: () => runtime.at };
  return runtime;
}

describe("A lease", () => {
  it("counts from when the answered call was sent, not from when the answer came", () => {
    const runtime = clock();
    runtime.at = 20_000;
    const lease = new Lease(runtime, 90, 5_000);
    expect(lease.remainingFraction()).toBeCloseTo(75 / 90);
    runtime.at = 95_000;
    expect(lease.isOver()).toBe(true);
  });

  it("is due for renewal after a third, and a renewal counts from its sending", () => {
    const runtime = clock();
    const lease = new Lease(runtime, 90, 0);
    expect(lease.millisecondsUntilRenewal()).toBeCloseTo(30_000);
    runtime.at = 40_000;
    expect(lease.millisecondsUntilRenewal()).toBe(0);
    lease.renewed(35_000);
    expect(lease.millisecondsUntilRenewal()).toBeCloseTo(25_000);
  });

  it("is never shortened by a late acknowledgement", () => {
    const runtime = clock();
    const lease = new Lease(runtime, 90, 0);
    lease.renewed(50_000);
    lease.renewed(10_000);
    runtime.at = 139_000;
    expect(lease.isOver()).toBe(false);
  });
});

describe("The pause after failures", () => {
  it("is at least a second, grows, is spread, and ends at its longest", () => {
    for (const failures of [0, 1, 2, 3, 10, 1_000])
      for (const random of [0, 0.5, 0.999]) {
        const pause = backoffMilliseconds(failures, 30_000, random);
        expect(pause).toBeGreaterThanOrEqual(1_000);
        expect(pause).toBeLessThanOrEqual(30_000);
      }
    expect(backoffMilliseconds(0, 30_000, 0.999)).toBeLessThan(2_001);
    expect(backoffMilliseconds(10, 30_000, 0.999)).toBeGreaterThan(29_000);
    expect(backoffMilliseconds(4, 30_000, 0)).not.toBe(backoffMilliseconds(4, 30_000, 0.5));
  });
});
