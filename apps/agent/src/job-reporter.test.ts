import { describe, expect, it } from "vitest";
import type { ApiCalls } from "./api-calls.ts";
import { ControlPlane } from "./control-plane.ts";
import { JobReporter } from "./job-reporter.ts";
import { Lease } from "./lease.ts";
import { type AgentRuntime, agentRuntime } from "./runtime.ts";
import { memoryLog } from "./testing/memory-log.ts";

/** A clock that only pauses move. */
function clock(): AgentRuntime & { at: number } {
  const runtime = {
    ...agentRuntime,
    at: 0,
    monotonic: () => runtime.at,
    after: () => () => {},
    pause: async (milliseconds: number) => {
      runtime.at += milliseconds;
    },
  };
  return runtime;
}

describe("A report", () => {
  it("renews the lease from its first try, since that is the one the control plane may have counted from", async () => {
    const runtime = clock();
    const lease = new Lease(runtime, 90, 0);
    const sentAt: number[] = [];
    const report: ApiCalls["report"] = async () => {
      sentAt.push(runtime.at);
      if (sentAt.length < 3) {
        runtime.at += 20_000;
        throw new TypeError("the reply was lost");
      }
      const data = { lease_expires_at: null, cancel_requested: false, status: "running" as const };
      return { data, response: { ok: true, status: 200, headers: new Headers() } };
    };
    const reporter = new JobReporter({
      job: { id: "job_1", epoch: 1, cancel_requested: false },
      lease,
      controlPlane: new ControlPlane({ calls: { report } as ApiCalls, runtime, crashPoint: () => {} }),
      runtime,
      log: memoryLog().log,
      lost: () => {},
    });
    runtime.at = 10_000;
    await reporter.report({
      phase: "apply",
      name: "clone",
      status: "running",
      message: null,
      externalRef: null,
      progress: 20,
      irreversible: false,
    });
    expect(sentAt).toHaveLength(3);
    expect(sentAt[0]).toBe(10_000);
    expect(lease.remainingFraction()).toBeCloseTo(1 - (runtime.at - 10_000) / 90_000);
    expect(runtime.at).toBeGreaterThan(50_000);
  });
});
