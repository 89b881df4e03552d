// How an attempt at a job ends, and what that means for its server: apps/api's end-attempt.ts and settle.ts, with
// packages/rules deciding in both.

import type { Schemas } from "@kule/contract/schemas";
import { leavesRebuildOpen } from "@kule/rules/jobs/actions";
import { backoffSeconds, hasAttemptsLeft } from "@kule/rules/jobs/retry";
import { grownDiskGb } from "@kule/rules/servers/disk";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { leavesRunning } from "@kule/rules/servers/power";
import { type PowerState, settleServer } from "@kule/rules/servers/settle";
import { leaveFilter, retryFilter, settleFilter } from "./model-firewalls.ts";
import { retryPublicIps, settlePublicIps } from "./model-public-ips.ts";
import { cancelQueued } from "./model-refusals.ts";
import { diskOf, type ModelJob, type ModelServer, type ModelState } from "./model-state.ts";

export type AttemptOutcome = {
  readonly status: Schemas["JobOutcome"]["status"];
  readonly errorCode: string | null;
  readonly power: PowerState | null;
  readonly vmidUnusable: "taken" | "quarantined" | null;
  readonly publicNetwork: "applied" | "next_boot" | null;
  readonly macs: readonly (string | null)[];
  readonly diskBytes: number | null;
  /** The filter that the VM has by its report. */
  readonly filter: string | null;
};

/** For an attempt without a report. */
export const nothingSeen = {
  power: null,
  vmidUnusable: null,
  publicNetwork: null,
  macs: [],
  diskBytes: null,
  filter: null,
} as const;

/** The MACs of an adopted VM, as they were observed. */
export function macsOf(observed: object | undefined): readonly (string | null)[] {
  return (observed as { macs?: readonly (string | null)[] } | undefined)?.macs ?? [];
}

type FinalStatus = "succeeded" | "failed" | "cancelled";

/** Ends the attempt of a running job: finally, or back into the queue. */
export function endAttempt(
  state: ModelState,
  job: ModelJob,
  outcome: AttemptOutcome,
  random: () => number,
): void {
  const replaced = outcome.vmidUnusable !== null && outcome.status !== "succeeded" && !job.cancelRequested;
  if (replaced) {
    if (state.replaceVmid(job.serverId)) state.serverOf(job).mac = null;
    else {
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
  settle(state, job, status, outcome);
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
  job.runAt = state.moment() + delaySeconds * 1000;
  job.attempt = countsAttempt ? job.attempt : Math.max(0, job.attempt - 1);
  job.errorCode = outcome.errorCode;
  job.lastSeen = { power: outcome.power, diskBytes: outcome.diskBytes };
}

/** No step of a job that is not running may be shown as running. */
function closeSteps(job: ModelJob, status: "succeeded" | "failed"): void {
  for (const step of job.steps) if (step.status === "running") step.status = status;
}

/** Writes what the end of a job means for its server; the rules decide, this only writes. */
export function settle(
  state: ModelState,
  job: ModelJob,
  status: FinalStatus,
  {
    power,
    publicNetwork,
    macs,
    diskBytes,
    filter,
  }: Pick<AttemptOutcome, "power" | "publicNetwork" | "macs" | "diskBytes" | "filter">,
): void {
  const server = state.serverOf(job);
  if (server.status === "deleted") throw new Error(`job ${job.id} has no server to settle`);
  const diskGb = diskAfter(job, server, status, diskBytes);
  const settled = settleServer(
    job.kind,
    {
      status: server.status as ServerStatus,
      powerState: server.powerState,
      wantsRunning: wantsRunning(job, server),
      ...state.openUsage(server.id),
      isIrreversible: job.irreversible,
      diskIsBroken: job.kind === "ServerPower" && isBrokenByRebuild(state, server),
      diskHasGrown: diskGb !== diskOf(server),
      hasSuccessor: state.openJobs(server.id).queued !== null,
    },
    { status, power, message: status, code: status === "failed" ? job.errorCode : null },
  );
  server.status = settled.status;
  server.powerState = settled.powerState;
  if (settled.reason !== "keep") server.reasonCode = settled.reason?.code ?? null;
  if (settled.restoresTo !== null) server.restoresTo = settled.restoresTo;
  const isRestored =
    job.kind === "ServerRestore" && settled.isApplied && settled.status !== "pending_deletion";
  if (isRestored) server.restoresTo = null;
  takeOver(server, job, status, { macs, diskGb });
  if (settled.isApplied) server.observedGeneration = server.generation;
  if (settled.wipesSecret) server.hasSecret = false;
  if (settled.releasesAllocations) {
    state.releaseAddresses(server.id);
    state.retireVmid(server.id, "tombstone");
  }
  state.recordUsage(settled.usage, server.id, job.id);
  settlePublicIps(state, server, job, { status, publicNetwork });
  settleFilter(state, server, job, { status, filter });
}

/** A rebuild was interrupted after it began to destroy the disk, and may still be retried. */
function isBrokenByRebuild(state: ModelState, server: ModelServer): boolean {
  const its = state.jobs.filter((job) => job.serverId === server.id);
  const rebuild = its.findLast(({ kind }) => kind === "ServerRebuild");
  if (rebuild === undefined || !rebuild.irreversible) return false;
  if (rebuild.status !== "failed" && rebuild.status !== "cancelled") return false;
  return its.every((job) => job.number <= rebuild.number || leavesRebuildOpen(job.kind, job.status));
}

/** The disk that the server has from then on. */
function diskAfter(
  { kind, parameters }: ModelJob,
  server: ModelServer,
  status: FinalStatus,
  seenBytes: number | null,
): number {
  const has = diskOf(server);
  if (kind !== "ServerResize") return has;
  const recorded = status === "succeeded" ? Math.max(parameters.disk_gb ?? has, has) : has;
  return grownDiskGb(recorded, parameters.disk_gb ?? has, seenBytes) ?? recorded;
}

/**
 * Ends a queued job that another one supersedes: the other one decides the server's transition. The ended
 * one's additional quota, its secret, and what its last attempt observed are settled all the same.
 */
export function preemptQueuedJob(state: ModelState, server: ModelServer, job: ModelJob): void {
  cancelQueued(job, "superseded");
  const { power = null, diskBytes = null } = job.lastSeen ?? {};
  const diskGb = diskAfter(job, server, "cancelled", diskBytes);
  const diskHasGrown = diskGb !== diskOf(server);
  const settled = settleServer(
    job.kind,
    {
      status: server.status as ServerStatus,
      powerState: server.powerState,
      wantsRunning: server.powerState === "on",
      ...state.openUsage(server.id),
      hasSuccessor: true,
      isIrreversible: job.irreversible,
      diskIsBroken: false,
      diskHasGrown,
    },
    { status: "cancelled", power, message: "superseded" },
  );
  server.powerState = settled.powerState;
  if (diskHasGrown) server.diskGb = diskGb;
  if (job.kind === "ServerResize") server.resizes = null;
  leaveFilter(state, server, job);
  if (settled.wipesSecret) server.hasSecret = false;
  state.recordUsage(settled.usage, server.id, job.id);
}

/** The parameters of a job are the server's when the region has confirmed them. */
function takeOver(
  server: ModelServer,
  { kind, parameters }: ModelJob,
  status: FinalStatus,
  { macs, diskGb }: { readonly macs: readonly (string | null)[]; readonly diskGb: number },
): void {
  // A grown disk stays grown, whatever the outcome of the rest.
  if (kind === "ServerResize" && (status === "succeeded" || diskGb !== diskOf(server)))
    server.diskGb = diskGb;
  if (kind === "ServerResize") server.resizes = null;
  if (status !== "succeeded") return;
  if (kind === "ServerResize") server.package = parameters.package ?? server.package;
  if (kind === "ServerRebuild") server.image = parameters.image ?? server.image;
  if (kind === "ServerAdopt") server.mac = macs[0]?.toLowerCase() ?? server.mac;
}

/** Whether the server should run after the job, when the region does not report it. */
function wantsRunning({ kind, parameters }: ModelJob, server: ModelServer): boolean {
  switch (kind) {
    case "ServerCreate":
      return server.startWhenCreated;
    case "ServerPower":
      return parameters.action !== undefined && leavesRunning(parameters.action);
    case "ServerResize":
      return parameters.run === true;
    case "ServerRebuild":
      return true;
    case "ServerPasswordReset":
    case "ServerUpdate":
    case "ServerReconcile":
    case "FirewallApply":
      return server.powerState === "on";
    default:
      return server.restoresTo === "running";
  }
}

/** A retried job starts its server's transition again; a stop and a destroy never ended it. */
export function retried(state: ModelState, job: ModelJob): void {
  retryPublicIps(state, job);
  const server = state.serverOf(job);
  retryFilter(server, job);
  if (job.kind === "ServerCreate" || job.kind === "ServerAdopt") server.status = "creating";
  if (job.kind === "ServerRestore") server.status = server.restoresTo === "running" ? "starting" : "stopped";
  if (job.kind === "ServerRebuild") server.status = "rebuilding";
  if (job.kind === "ServerResize") {
    server.status = "resizing";
    const { package: slug = server.package, disk_gb = 0 } = job.parameters;
    server.resizes = { package: slug, diskGb: disk_gb };
  }
  server.reasonCode = null;
}
