import type { StepEvent } from "@kule/programs/program";
import { runJob } from "@kule/programs/registry";
import { createJob, quietHost, startLabRegion } from "@kule/programs/testing/lab-region";
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

type Report = Parameters<ApiCalls["report"]>[1];

/** A reporter of a running job, and the reports that arrive. */
function reporting(runtime: AgentRuntime, before: (report: Report) => void = () => {}) {
  const reports: Report[] = [];
  const lease = new Lease(runtime, 90, 0);
  const report: ApiCalls["report"] = async (_job, body) => {
    before(body);
    reports.push(body);
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
  return { reporter, reports, lease };
}

const step = (name: string, status: StepEvent["status"], externalRef: string | null = null): StepEvent => ({
  phase: "apply",
  name,
  status,
  message: null,
  externalRef,
  progress: 20,
  irreversible: false,
});

/** The steps of each report. */
const stepsIn = (reports: readonly Report[]) =>
  reports.map(({ earlier_steps = [], step }) =>
    [...earlier_steps, ...(step ? [step] : [])].map(({ name, status }) => `${name} ${status}`),
  );

/** A clock on which no second passes. */
function stillClock(): AgentRuntime {
  return { ...clock(), pause: () => new Promise(() => {}) };
}

describe("A report", () => {
  it("renews the lease from its first try, since that is the one the control plane may have counted from", async () => {
    const runtime = clock();
    const sentAt: number[] = [];
    const { reporter, lease } = reporting(runtime, () => {
      sentAt.push(runtime.at);
      if (sentAt.length === 3) return;
      runtime.at += 20_000;
      throw new TypeError("the reply was lost");
    });
    runtime.at = 10_000;
    await reporter.report(step("clone", "running"));
    expect(sentAt).toHaveLength(3);
    expect(sentAt[0]).toBe(10_000);
    expect(lease.remainingFraction()).toBeCloseTo(1 - (runtime.at - 10_000) / 90_000);
    expect(runtime.at).toBeGreaterThan(50_000);
  });

  it("has the end of the step before it, and its number counts both", async () => {
    const { reporter, reports } = reporting(stillClock());
    await reporter.report(step("clone", "running"));
    await reporter.report(step("clone", "running", "UPID:pve1:1"));
    await reporter.report(step("clone", "succeeded"));
    await reporter.report(step("resize", "running"));
    await reporter.report(step("resize", "succeeded"));
    await reporter.end({ status: "succeeded" });
    expect(stepsIn(reports)).toEqual([
      ["clone running"],
      ["clone running", "clone succeeded", "resize running"],
      ["resize succeeded"],
    ]);
    expect(reports.map(({ seq }) => seq)).toEqual([1, 4, 5]);
    expect(reports[1]?.earlier_steps?.[0]).toMatchObject({ phase: "apply", external_ref: "UPID:pve1:1" });
    expect(reports[2]?.outcome).toEqual({ status: "succeeded" });
  });

  it("of a step that has ended is sent alone when nothing else is within a second", async () => {
    const runtime = clock();
    const { reporter, reports } = reporting(runtime);
    await reporter.report(step("clone", "running"));
    await reporter.report(step("clone", "running", "UPID:pve1:1"));
    await expect.poll(() => reports.length, { interval: 1 }).toBe(2);
    expect(runtime.at).toBe(1_000);
    expect(reports[1]).toMatchObject({ seq: 2, step: { name: "clone", external_ref: "UPID:pve1:1" } });
    await reporter.report(step("resize", "running"));
    expect(reports).toHaveLength(3);
    expect(reports[2]?.earlier_steps).toBeUndefined();
  });

  it("comes at most ten times in a create", async () => {
    const region = await startLabRegion();
    try {
      const { reporter, reports } = reporting(stillClock());
      const host = quietHost({ report: (event) => reporter.report(event) });
      const observed = await runJob(createJob(20_001), region.world, host);
      await reporter.end({ status: "succeeded", observed: { power_state: observed.power_state } });
      expect(stepsIn(reports).flat()).toContain("start succeeded");
      expect(reports.length).toBeLessThanOrEqual(10);
    } finally {
      await region.stop();
    }
  });
});
