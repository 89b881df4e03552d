// What the end of a job means for its server, and then for the server's addresses and its filter.

import { leaveFilter, settleFilter } from "./firewalls.ts";
import { cancelQueued, diskOf, isLeaving, type ModelState, openJob } from "./model-state.ts";
import { settleIps } from "./public-ip-endings.ts";
import type { FinalStatus, ModelJob, ModelServer, Power, UsageKind } from "./types.ts";

/** What the agent reported with the end of an attempt. */
export type Seen = {
  readonly power: Power | null;
  /** Whether its guest has applied the change of its addresses, or does at its next boot. */
  readonly publicNetwork: "applied" | "next_boot" | null;
  /** The MACs of an adopted VM. */
  readonly macs: readonly (string | null)[];
  readonly diskBytes: number | null;
  /** The filter that the VM has. */
  readonly filter: string | null;
};

/** For an attempt without a report. */
export const nothingSeen: Seen = {
  power: null,
  publicNetwork: null,
  macs: [],
  diskBytes: null,
  filter: null,
};

/** Ends a job for good; the server may have moved on while it ran. */
export function endJob(
  state: ModelState,
  job: ModelJob,
  status: FinalStatus,
  errorCode: string | null,
  seen: Seen,
): void {
  job.status = status;
  job.errorCode = status === "succeeded" ? null : errorCode;
  job.ends += 1;
  settle(state, job, seen);
}

/** A queued job is no longer wanted. */
export function giveUpQueued(state: ModelState, job: ModelJob): void {
  cancelQueued(job, "cancelled");
  settle(state, job, { ...nothingSeen, ...job.lastSeen });
}

/**
 * A queued job is superseded by another, which decides the server's status. What it was to use in addition is free
 * again, and what its last attempt observed is true all the same.
 */
export function preemptQueuedJob(state: ModelState, job: ModelJob): void {
  cancelQueued(job, "superseded");
  observe(state, job, { ...nothingSeen, ...job.lastSeen }, true);
  leaveFilter(state, job);
}

function settle(state: ModelState, job: ModelJob, seen: Seen): void {
  const { server } = job;
  if (server.status === "deleted") throw new Error(`${job.kind} ${job.id} has no server to settle`);
  const isOthers = isLeaving(server.status) || openJob(server, "queued") !== undefined;
  observe(state, job, seen, isOthers);
  decideStatus(job, isOthers);
  if (job.kind === "ServerDestroy" && job.status === "succeeded") state.release(server);
  settleIps(state, job, seen.publicNetwork === "next_boot");
  settleFilter(state, job, seen.filter);
}

/** What is true of the server however it goes on. */
function observe(state: ModelState, job: ModelJob, seen: Seen, isOthers: boolean): void {
  const { server } = job;
  const counted = state.counted(server);
  server.power = powerAfter(job, seen.power);
  const hasGrown = takeOver(job, seen);
  if (dropsSecret(job, isOthers)) server.hasSecret = false;
  state.recordUsage(usageOf(job, counted, hasGrown), job);
}

function powerAfter(job: ModelJob, seen: Power | null): Power {
  const { kind, server, status } = job;
  if (status !== "succeeded") {
    // An adoption has changed nothing, and seen no server of this organisation's.
    if (kind === "ServerAdopt") return server.power;
    // It was switched off before it was destroyed; only what is seen to run does.
    return seen ?? (kind === "ServerRebuild" && job.isIrreversible ? "off" : server.power);
  }
  if (kind === "ServerStop" || kind === "ServerDestroy") return "off";
  if (kind === "PublicIpAttach" || kind === "PublicIpDetach") return seen ?? server.power;
  return seen === "on" || seen === "off" ? seen : wantsRunning(job) ? "on" : "off";
}

/** Whether the server should run after the job, if the region does not report it. */
function wantsRunning({ kind, order, server }: ModelJob): boolean {
  switch (kind) {
    case "ServerCreate":
      return server.starts;
    case "ServerAdopt":
    case "ServerRestore":
      return server.restoresTo === "running";
    case "ServerPower":
      return order.action !== "shutdown" && order.action !== "stop";
    case "ServerResize":
      return order.resize?.run === true;
    case "ServerRebuild":
      return true;
    default:
      return server.power === "on";
  }
}

const GIB = 2 ** 30;

/**
 * The parameters of a job are the server's when the region has confirmed them; a disk that has grown stays so,
 * whatever the outcome of the rest, but never beyond what was ordered.
 *
 * @returns whether the disk is larger than it was recorded
 */
function takeOver(job: ModelJob, { diskBytes, macs }: Seen): boolean {
  const { server, order, kind } = job;
  const hasSucceeded = job.status === "succeeded";
  const had = diskOf(server);
  if (kind === "ServerResize") {
    const ordered = order.resize?.diskGb ?? had;
    const recorded = hasSucceeded ? Math.max(ordered, had) : had;
    const seenGb = diskBytes === null ? 0 : Math.floor(diskBytes / GIB);
    const diskGb = seenGb > recorded && seenGb <= ordered ? seenGb : recorded;
    if (hasSucceeded || diskGb !== had) server.diskGb = diskGb;
    if (hasSucceeded) server.package = order.resize?.slug ?? server.package;
    server.growsTo = null;
  }
  if (kind === "ServerRebuild" && hasSucceeded && order.rebuild !== undefined) {
    server.image = order.rebuild.image;
    server.keys = order.rebuild.keys;
  }
  if (kind === "ServerAdopt" && hasSucceeded) server.mac = macs[0]?.toLowerCase() ?? server.mac;
  return diskOf(server) !== had;
}

/** A password that was set, or that it is too late to set, is kept nowhere. */
function dropsSecret(job: ModelJob, isOthers: boolean): boolean {
  const hasSucceeded = job.status === "succeeded";
  switch (job.kind) {
    case "ServerCreate":
    case "ServerAdopt":
    case "ServerDestroy":
      return hasSucceeded;
    case "ServerRestore":
      return hasSucceeded && !isLeaving(job.server.status);
    case "ServerPasswordReset":
      return true;
    case "ServerRebuild":
      return !hasBroken(job);
    case "ServerPower":
    case "ServerResize":
    case "ServerUpdate":
      return !isOthers && !leavesBroken(job);
    default:
      return false;
  }
}

function usageOf(
  { kind, server, status }: ModelJob,
  counted: { readonly run: boolean; readonly disk: boolean },
  hasGrown: boolean,
): UsageKind[] {
  const hasSucceeded = status === "succeeded";
  const run: UsageKind[] =
    server.power === "on" && !counted.run
      ? ["server.started"]
      : server.power === "off" && counted.run
        ? ["server.stopped"]
        : [];
  switch (kind) {
    // One that was never created is not counted as running.
    case "ServerCreate":
    case "ServerAdopt":
      return hasSucceeded ? [...(counted.disk ? [] : (["disk.allocated"] as const)), ...run] : [];
    case "ServerDestroy":
      if (!hasSucceeded) return counted.disk ? run : [];
      return [...run, ...(counted.disk ? (["disk.released"] as const) : []), "server.purged"];
    // Open segments are divided here, and new ones begin in the new size.
    case "ServerResize":
      if (!counted.disk) return [];
      return hasSucceeded || hasGrown ? ["server.resized", ...run] : run;
    default:
      return counted.disk ? run : [];
  }
}

const failureOf = {
  ServerPower: "power_failed",
  ServerResize: "resize_failed",
  ServerRebuild: "rebuild_failed",
  ServerPasswordReset: "password_reset_failed",
  ServerUpdate: "rename_failed",
  FirewallApply: "firewall_failed",
} as const;

function decideStatus(job: ModelJob, isOthers: boolean): void {
  const { server, kind, status } = job;
  const hasSucceeded = status === "succeeded";
  const inError = (reason: string) => Object.assign(server, { status: "error", reason });
  const ended = status === "cancelled" ? "cancelled" : "failed";
  switch (kind) {
    case "ServerCreate":
    case "ServerAdopt":
      if (hasSucceeded) present(job);
      else if (server.status === "creating")
        inError(`${kind === "ServerCreate" ? "create" : "import"}_${ended}`);
      return;
    case "ServerRestore":
      if (hasSucceeded) present(job);
      else if (!isLeaving(server.status)) inError(`restore_${ended}`);
      return;
    case "ServerStop":
      if (server.status === "pending_deletion" && status !== "cancelled")
        server.reason = hasSucceeded ? null : "stop_failed";
      return;
    case "ServerDestroy":
      if (hasSucceeded) confirm(server, { status: "deleted", reason: null });
      else server.reason = "destroy_failed";
      return;
    case "PublicIpAttach":
    case "PublicIpDetach":
      if (isLeaving(server.status) || server.status === "error") return;
      if (!isOthers) followPower(server);
      server.reason = hasSucceeded ? null : "public_ip_failed";
      return;
    default:
      operated(job, isOthers, failureOf[kind]);
  }
}

/** The region has what is wanted. */
function confirm(server: ModelServer, changes: Partial<ModelServer>): void {
  Object.assign(server, changes, { observedGeneration: server.generation });
}

/** The VM is there as wanted. A server that was deleted in the meantime is still being deleted. */
function present({ server, kind }: ModelJob): void {
  const steady = server.power === "on" ? "running" : "stopped";
  if (server.status === "pending_deletion") server.restoresTo = steady;
  else if (kind === "ServerRestore") server.restoresTo = null;
  confirm(server, isLeaving(server.status) ? {} : { status: steady, reason: null });
}

/** Its addresses were changed and not its power; what was seen of that all the same is what it is. */
function followPower(server: ModelServer): void {
  if (server.power === "unknown") return;
  if (server.status === "running" || server.status === "stopped")
    server.status = server.power === "on" ? "running" : "stopped";
}

/**
 * A job that leaves the server on or off; and in error when there was no VM that it could have worked on, or when a
 * rebuild has left the server without a disk.
 */
function operated(job: ModelJob, isOthers: boolean, failure: string): void {
  const { server, status, errorCode } = job;
  if (status === "succeeded") confirm(server, {});
  if (isOthers) return;
  const hasFailed = status === "failed";
  if (hasFailed && (errorCode === "vm_missing" || errorCode === "vm_incomplete")) {
    const reason = errorCode === "vm_missing" && !hasBroken(job) ? errorCode : failure;
    Object.assign(server, { status: "error", reason });
  } else if (hasBroken(job) || (leavesBroken(job) && server.power !== "on"))
    Object.assign(server, { status: "error", reason: hasFailed ? failure : "rebuild_failed" });
  else {
    const steady = server.power === "on" ? "running" : server.power === "off" ? "stopped" : "error";
    Object.assign(server, { status: steady, reason: hasFailed ? failure : null });
  }
}

/** A rebuild that has not come to its end: the disk is gone, or incomplete, until one has. */
const hasBroken = ({ kind, isIrreversible, status }: ModelJob) =>
  kind === "ServerRebuild" && isIrreversible && status !== "succeeded";

/** A power action that came to nothing, of a server whose disk a rebuild had destroyed. */
const leavesBroken = (job: ModelJob) =>
  job.kind === "ServerPower" && job.status !== "succeeded" && hasNoDisk(job.server);

/** The last rebuild has destroyed the disk, and none was used since. */
function hasNoDisk({ jobs }: ModelServer): boolean {
  const last = jobs.findLast((job) => overtakes(job, "ServerRebuild"));
  if (last === undefined || !hasBroken(last)) return false;
  return last.status === "failed" || last.status === "cancelled";
}

/** Around a server, in its networks: what a rebuild has broken is as broken after them. */
const leaveTheDisk: ReadonlySet<string> = new Set(["PublicIpAttach", "PublicIpDetach", "FirewallApply"]);

/**
 * The job is over for one of that kind once this one was there. After a rebuild that failed the server's disk was
 * used, or it is being deleted. A power action that did nothing used no disk.
 */
export function overtakes(later: ModelJob, kind: ModelJob["kind"]): boolean {
  if (later.kind === kind) return true;
  const isVain = later.kind === "ServerPower" && later.status !== "succeeded";
  return kind === "ServerRebuild" && !leaveTheDisk.has(later.kind) && !isVain;
}
