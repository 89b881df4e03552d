// The attempts at a job: a claim begins one, and a report or the end of its lease ends it.

import { endJob, type Seen } from "./endings.ts";
import { type ModelState, NOT_YET, openJob } from "./model-state.ts";
import type { FinalStatus, ModelJob, Phase } from "./types.ts";

/** Jobs that the region's agent may be given: one at a time for each server. */
export function claimable(state: ModelState): ModelJob[] {
  return state.servers.flatMap((server) => {
    const queued = openJob(server, "queued");
    const isNext =
      queued !== undefined && queued.runAt !== NOT_YET && openJob(server, "running") === undefined;
    return isNext ? [queued] : [];
  });
}

/** An agent gets the job, for the first time or after another one that did not report. */
export function beginAttempt(state: ModelState, job: ModelJob, claimId: string): void {
  job.status = "running";
  job.epoch += 1;
  job.attempt += 1;
  job.lastSeq = 0;
  job.claimId = claimId;
  job.phase = null;
  job.errorCode = null;
  job.leaseUntil = state.now() + state.settings.leaseSeconds * 1000;
  for (const step of job.steps) if (step.status === "running") step.status = "failed";
}

type AttemptOutcome = Seen & {
  readonly status: FinalStatus | "retry" | "released";
  readonly errorCode: string | null;
  readonly vmidUnusable: "taken" | "quarantined" | null;
};

/**
 * Ends the attempt of a running job: finally, or back into the queue.
 *
 * @param random spreads the waits of jobs that met trouble together
 */
export function endAttempt(
  state: ModelState,
  job: ModelJob,
  outcome: AttemptOutcome,
  random: () => number,
): void {
  const isReplaced = outcome.vmidUnusable !== null && outcome.status !== "succeeded" && !job.cancelRequested;
  if (isReplaced) {
    if (!state.replaceVmid(job.server)) {
      finish(state, job, "failed", "vmid_exhausted", outcome);
      return;
    }
    job.server.mac = null;
  }
  const isReleased = outcome.status === "released";
  const end = endOf(state, job, outcome, isReplaced);
  if (end !== null) finish(state, job, end.status, end.code, outcome);
  else requeue(state, job, isReleased || isReplaced ? 0 : backoffSeconds(job.attempt, random()), outcome);
  if (end === null && isReleased) job.attempt = Math.max(0, job.attempt - 1);
}

type End = { readonly status: FinalStatus; readonly code: string | null };

/** How the job ends with this attempt; null when it is queued again. */
function endOf(
  state: ModelState,
  job: ModelJob,
  { status, errorCode }: AttemptOutcome,
  isReplaced: boolean,
): End | null {
  if (status !== "retry" && status !== "released" && !isReplaced) {
    // A job without a request to stop has not been cancelled.
    const isGivenUp = status === "cancelled" && !job.cancelRequested;
    return isGivenUp ? { status: "failed", code: errorCode ?? "given_up" } : { status, code: errorCode };
  }
  if (job.cancelRequested) return { status: "cancelled", code: "cancelled" };
  if (openJob(job.server, "queued") !== undefined) return { status: "cancelled", code: "superseded" };
  if (status === "released" || job.attempt < state.settings.maxAttempts) return null;
  return { status: "failed", code: errorCode ?? "attempts_exhausted" };
}

/** Five seconds, doubling, at most five minutes; a fifth of it is left to chance. */
function backoffSeconds(attempt: number, chance: number): number {
  const seconds = Math.min(300, 5 * 2 ** Math.max(0, attempt - 1));
  return Math.round(seconds * (0.9 + 0.2 * chance) * 1000) / 1000;
}

function finish(
  state: ModelState,
  job: ModelJob,
  status: FinalStatus,
  errorCode: string | null,
  seen: Seen,
): void {
  closeSteps(job, status === "succeeded" ? "succeeded" : "failed");
  if (status === "succeeded") job.progress = 100;
  job.leaseUntil = null;
  endJob(state, job, status, errorCode, seen);
}

function requeue(state: ModelState, job: ModelJob, delaySeconds: number, outcome: AttemptOutcome): void {
  closeSteps(job, "failed");
  job.status = "queued";
  job.leaseUntil = null;
  job.runAt = state.moment() + delaySeconds * 1000;
  job.errorCode = outcome.errorCode;
  job.lastSeen = { power: outcome.power, diskBytes: outcome.diskBytes };
}

/** No step of a job that is not running may be shown as running. */
function closeSteps(job: ModelJob, status: "succeeded" | "failed"): void {
  for (const step of job.steps) if (step.status === "running") step.status = status;
}

/** The least progress of a job in that phase. */
const floorOf: { readonly [phase in Phase]: number } = { observe: 5, plan: 15, apply: 20, verify: 90 };

/** What was reported, never less than before, and never all of it before the end. */
export function advance(job: ModelJob, phase: Phase | null, reported: number | null): void {
  const floor = phase === null ? 0 : floorOf[phase];
  job.progress = Math.min(99, Math.max(job.progress, reported ?? floor, 0));
}
