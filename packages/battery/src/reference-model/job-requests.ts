// What people may ask of jobs: that one is given up, or tried again.

import { absent, type Expected, refused } from "./answers.ts";
import { giveUpQueued, overtakes, preemptQueuedJob } from "./endings.ts";
import { retryFilter, writesFilter } from "./firewalls.ts";
import { hasOpenJob, hasOpenJobButRules, type ModelState, openJob, wasCreated } from "./model-state.ts";
import { retryIps } from "./public-ip-endings.ts";
import { fullFor, takenByResize } from "./quotas.ts";
import type { ModelJob, Side } from "./types.ts";

export function expectCancelJob(job: ModelJob, side: Side): Expected {
  if (job.server.side !== side) return absent;
  return isCancellable(job) ? { status: 202 } : refused("invalid_state");
}

/** Actions on an existing server: cancelled while they wait, and completed once they have begun. */
const acts: ReadonlySet<string> = new Set([
  "ServerPower",
  "ServerResize",
  "ServerRebuild",
  "ServerPasswordReset",
]);

export function isCancellable(job: ModelJob): boolean {
  if (acts.has(job.kind)) return job.status === "queued";
  if (job.kind !== "ServerCreate" && job.kind !== "ServerAdopt") return false;
  return job.status === "queued" || (job.status === "running" && !job.isIrreversible);
}

export function applyCancelJob(state: ModelState, job: ModelJob): void {
  if (job.status === "running") job.cancelRequested = true;
  else giveUpQueued(state, job);
}

export function expectRetry(state: ModelState, job: ModelJob, side: Side): Expected {
  if (job.server.side !== side) return absent;
  if (!isRetryable(job)) return refused("invalid_state");
  const { resize } = job.order;
  const full =
    resize === undefined ? null : fullFor(state, side, takenByResize(job.server, resize.slug, resize.diskGb));
  return full ?? { status: 202 };
}

export function isRetryable(job: ModelJob): boolean {
  if (job.status !== "failed" && job.status !== "cancelled") return false;
  const { server, kind } = job;
  const isBusy = writesFilter(job) ? hasOpenJobButRules(server) : hasOpenJob(server);
  if (server.isLocked || isBusy) return false;
  if (server.jobs.findLast((each) => overtakes(each, kind)) !== job) return false;
  const { status } = server;
  const isSteady = status === "running" || status === "stopped";
  switch (kind) {
    case "ServerCreate":
    case "ServerAdopt":
      return status === "error" && !wasCreated(server);
    case "ServerRestore":
      return status === "error" && wasCreated(server);
    // A rebuild that has destroyed nothing is requested again.
    case "ServerRebuild":
      return status === "error" && wasCreated(server) && job.isIrreversible;
    case "ServerStop":
      return status === "pending_deletion";
    case "ServerDestroy":
      return status === "deleting";
    case "ServerResize":
      return (isSteady || status === "error") && wasCreated(server);
    case "ServerUpdate":
    case "FirewallApply":
      return isSteady && wasCreated(server);
    case "PublicIpAttach":
      return isSteady;
    case "PublicIpDetach":
      return isSteady || status === "error" || status === "pending_deletion";
    // Easily requested again; and the password is no longer known.
    case "ServerPower":
    case "ServerPasswordReset":
      return false;
  }
}

export function applyRetry(state: ModelState, job: ModelJob): void {
  const { server, kind, order } = job;
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(state, queued);
  Object.assign(job, {
    status: "queued",
    attempt: 0,
    phase: null,
    progress: 0,
    runAt: state.moment(),
    cancelRequested: false,
    errorCode: null,
    lastSeen: null,
  });
  retryIps(state, server);
  retryFilter(job);
  if (kind === "ServerCreate" || kind === "ServerAdopt") server.status = "creating";
  if (kind === "ServerRebuild") server.status = "rebuilding";
  if (kind === "ServerRestore") server.status = server.restoresTo === "running" ? "starting" : "stopped";
  if (order.resize !== undefined) {
    server.status = "resizing";
    server.growsTo = order.resize;
  }
  server.reason = null;
}
