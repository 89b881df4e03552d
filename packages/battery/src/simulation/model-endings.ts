// How an attempt at a job ends, and what that means for its server: apps/api's end-attempt.ts and settle.ts, with
// packages/rules deciding in both.

import type { Schemas } from "@kule/contract/schemas";
import { backoffSeconds, hasAttemptsLeft } from "@kule/rules/jobs/retry";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { type PowerState, settleServer } from "@kule/rules/servers/settle";
import type { ModelJob, ModelState } from "./model-state.ts";

export type AttemptOutcome = {
  readonly status: Schemas["JobOutcome"]["status"];
  readonly errorCode: string | null;
  readonly power: PowerState | null;
  readonly vmidUnusable: "taken" | "quarantined" | null;
};

type FinalStatus = "succeeded" | "failed" | "cancelled";

/** Ends the attempt of a running job: for good, or back into the queue. */
export function endAttempt(
  state: ModelState,
  job: ModelJob,
  outcome: AttemptOutcome,
  random: () => number,
): void {
  const replaced = outcome.vmidUnusable !== null && outcome.status !== "succeeded" && !job.cancelRequested;
  if (replaced) {
    if (!state.replaceVmid(job.serverId)) {
      finish(state, job, "failed", { ...outcome, errorCode: "vmid_exhausted" });
      return;
    }
  }
  const next = nextOf(state, job, outcome, replaced, random);
  if (next.status === "queued") requeue(state, job, next, outcome);
  else finish(state, job, next.status, { ...outcome, errorCode: next.errorCode });
}

type Next =
  | { readonly status: "queued"; readonly delaySeconds: number; readonly countsAttempt: boolean }
  | { readonly status: FinalStatus; readonly errorCode: string | null };

function nextOf(
  state: ModelState,
  job: ModelJob,
  outcome: AttemptOutcome,
  replaced: boolean,
  random: () => number,
): Next {
  const { status, errorCode } = outcome;
  const goesBack = status === "retry" || status === "released" || replaced;
  if (!goesBack && status === "cancelled" && !job.cancelRequested)
    return { status: "failed", errorCode: errorCode ?? "given_up" };
  if (!goesBack) return { status, errorCode };
  if (job.cancelRequested) return { status: "cancelled", errorCode: "cancelled" };
  if (state.openJobs(job.serverId).queued !== null) return { status: "cancelled", errorCode: "superseded" };
  if (status === "released") return { status: "queued", delaySeconds: 0, countsAttempt: false };
  if (!hasAttemptsLeft(job.attempt, job.maxAttempts))
    return { status: "failed", errorCode: errorCode ?? "attempts_exhausted" };
  const delaySeconds = replaced ? 0 : backoffSeconds(job.attempt, random());
  return { status: "queued", delaySeconds, countsAttempt: true };
}

function finish(state: ModelState, job: ModelJob, status: FinalStatus, outcome: AttemptOutcome): void {
  closeSteps(job, status === "succeeded" ? "succeeded" : "failed");
  job.status = status;
  if (status === "succeeded") job.progress = 100;
  job.leaseUntil = null;
  job.errorCode = status === "succeeded" ? null : outcome.errorCode;
  job.ends += 1;
  settle(state, job, status, outcome.power);
}

function requeue(
  state: ModelState,
  job: ModelJob,
  { delaySeconds, countsAttempt }: Extract<Next, { status: "queued" }>,
  outcome: AttemptOutcome,
): void {
  closeSteps(job, "failed");
  job.status = "queued";
  job.leaseUntil = null;
  job.runAt = state.now() + delaySeconds * 1000;
  job.attempt = countsAttempt ? job.attempt : Math.max(0, job.attempt - 1);
  job.errorCode = outcome.errorCode;
}

/** Nothing of a job that is not running may look as if it were being done. */
function closeSteps(job: ModelJob, status: "succeeded" | "failed"): void {
  for (const step of job.steps) if (step.status === "running") step.status = status;
}

/** Writes what the end of a job means for its server; the rules decide, this only writes. */
export function settle(
  state: ModelState,
  job: ModelJob,
  status: FinalStatus,
  power: PowerState | null,
): void {
  const server = state.serverOf(job);
  if (server.status === "deleted") throw new Error(`job ${job.id} has no server to settle`);
  const wantsRunning =
    job.kind === "ServerCreate" ? server.startWhenCreated : server.restoresTo === "running";
  const settled = settleServer(
    job.kind,
    {
      status: server.status as ServerStatus,
      powerState: server.powerState,
      wantsRunning,
      ...state.openUsage(server.id),
      isIrreversible: job.irreversible,
      // Nothing here resizes a server.
      diskHasGrown: false,
      hasSuccessor: state.openJobs(server.id).queued !== null,
    },
    { status, power, message: status },
  );
  server.status = settled.status;
  server.powerState = settled.powerState;
  if (settled.reason !== "keep") server.reasonCode = settled.reason?.code ?? null;
  if (settled.restoresTo !== null) server.restoresTo = settled.restoresTo;
  const isRestored =
    job.kind === "ServerRestore" && settled.isApplied && settled.status !== "pending_deletion";
  if (isRestored) server.restoresTo = null;
  if (settled.isApplied) server.observedGeneration = server.generation;
  if (settled.wipesSecret) server.hasSecret = false;
  if (settled.releasesAllocations) {
    state.releaseAddresses(server.id);
    state.restVmid(server.id, "tombstone");
  }
  state.recordUsage(settled.usage, server.id, job.id);
}

/** A create or a restore that is tried again is on its way once more; the other jobs never took the status away. */
export function retried(state: ModelState, job: ModelJob): void {
  const server = state.serverOf(job);
  if (job.kind === "ServerCreate") server.status = "creating";
  if (job.kind === "ServerRestore") server.status = server.restoresTo === "running" ? "starting" : "stopped";
  server.reasonCode = null;
}
