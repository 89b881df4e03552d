import { fullFor } from "./model-quotas.ts";
import {
  absent,
  addJob,
  type Expected,
  hasOpenJob,
  isLeaving,
  type ModelAddress,
  type ModelIp,
  type ModelJob,
  type ModelServer,
  type ModelState,
  openJob,
  preemptQueuedJob,
  refused,
  type Side,
} from "./model-state.ts";

/**
 * The address that a request for any gets: one that was never used, or the one whose quarantine began first.
 */
export function takeableAddress(state: ModelState, side: Side, version: 4 | 6): ModelAddress | null {
  const free = state.addresses.filter(
    (each) => each.side === side && each.version === version && each.state === "free",
  );
  return free.sort((one, other) => one.rested - other.rested)[0] ?? null;
}

/** @param named the requested address; null for any */
export function expectTake(
  state: ModelState,
  side: Side,
  version: 4 | 6,
  named: ModelAddress | null,
): Expected {
  const full = fullFor(state, side, { public_ips: 1 });
  if (full !== null) return full;
  const found = named ?? takeableAddress(state, side, version);
  const isThere = found !== null && found.side === side && found.state === "free";
  return isThere ? { status: 201 } : refused("no_public_ip_available");
}

export function applyTake(state: ModelState, side: Side, address: ModelAddress, id: string): ModelIp {
  address.state = "used";
  const ip: ModelIp = {
    id,
    side,
    address,
    wantedBy: null,
    heldBy: null,
    isApplied: false,
    needsReboot: false,
    reason: null,
    isProtected: false,
    goesWithServer: false,
    isGone: false,
  };
  state.ips.push(ip);
  return ip;
}

export const isAbsentIp = (ip: ModelIp, side: Side): boolean => ip.side !== side || ip.isGone;

/** The server that has it, should have it, or has not released it yet. */
export const holderOf = (ip: ModelIp): ModelServer | null => ip.wantedBy ?? ip.heldBy;

/** Why the address cannot be removed from that server now; null when it can. */
function stuckAt(server: ModelServer): string | null {
  if (server.status === "deleting") return "resource_deleting";
  const mayLeave = ["running", "stopped", "error", "pending_deletion"].includes(server.status);
  if (!mayLeave) return "invalid_state";
  return busy(server);
}

function busy(server: ModelServer): string | null {
  if (server.isLocked) return "locked";
  return hasOpenJob(server) ? "invalid_state" : null;
}

/**
 * It is moving from one server to another, and the VM of the first must release it: that server's state
 * counts, too. One job of it can be queued, and no second one.
 */
function stuckAtKeeper(ip: ModelIp): string | null {
  return ip.heldBy === null || ip.heldBy === holderOf(ip) ? null : stuckAt(ip.heldBy);
}

/** What its present server alone means for attaching it, moving included; the target is not known yet. */
export function attachedSomewhere(ip: ModelIp): string | null {
  const holder = holderOf(ip);
  if (holder === null) return null;
  return stuckAt(holder) ?? stuckAtKeeper(ip);
}

export function expectAttach(
  state: ModelState,
  ip: ModelIp,
  side: Side,
  target: ModelServer,
  force: boolean,
): Expected {
  if (isAbsentIp(ip, side)) return absent;
  if (target.side !== side || target.status === "deleted") return { status: 422 };
  const code = attachRefusal(state, ip, target, force);
  return code === null ? { status: 202 } : refused(code);
}

function attachRefusal(state: ModelState, ip: ModelIp, target: ModelServer, force: boolean): string | null {
  if (target.subnet.tier === "data") return "tier_forbids_egress";
  if (isLeaving(target.status)) return "resource_deleting";
  if (target.status !== "running" && target.status !== "stopped") return "invalid_state";
  const blocked =
    placeRefusal(ip, target, force) ?? (ip.heldBy === target ? null : stuckAtKeeper(ip)) ?? busy(target);
  if (blocked !== null) return blocked;
  const others = state.ips.filter((each) => each !== ip && !each.isGone && each.wantedBy === target);
  const isFull = others.some((each) => each.address.version === ip.address.version);
  return isFull ? "already_attached" : null;
}

function placeRefusal(ip: ModelIp, target: ModelServer, force: boolean): string | null {
  if (ip.wantedBy === target) return ip.isApplied ? "already_attached" : null;
  const holder = holderOf(ip);
  if (holder === null || holder === target) return null;
  return force ? stuckAt(holder) : "already_attached";
}

/** @returns the server that must release it first, if there is one */
export function applyAttach(ip: ModelIp, target: ModelServer): ModelServer | null {
  const leaves = ip.heldBy !== null && ip.heldBy !== target ? ip.heldBy : null;
  ip.wantedBy = target;
  ip.heldBy = leaves ?? target;
  ip.isApplied = false;
  ip.needsReboot = false;
  ip.reason = null;
  return leaves;
}

export function detachRefusal(ip: ModelIp): string | null {
  return holderOf(ip) === null ? "not_attached" : attachedSomewhere(ip);
}

export function expectDetach(ip: ModelIp, side: Side): Expected {
  if (isAbsentIp(ip, side)) return absent;
  const code = detachRefusal(ip);
  return code === null ? { status: 202 } : refused(code);
}

export function applyDetach(ip: ModelIp): void {
  ip.wantedBy = null;
  ip.isApplied = false;
  ip.needsReboot = false;
  ip.reason = null;
}

export function releaseRefusal(ip: ModelIp): string | null {
  if (ip.isProtected) return "protected";
  return holderOf(ip) === null ? null : "in_use";
}

export function expectRelease(ip: ModelIp, side: Side): Expected {
  if (isAbsentIp(ip, side)) return absent;
  const code = releaseRefusal(ip);
  return code === null ? { status: 204 } : refused(code);
}

/** A released address is in quarantine: traffic for its last owner must end before it is reserved again. */
export function applyReleaseIp(state: ModelState, ip: ModelIp): void {
  state.rests += 1;
  ip.isGone = true;
  ip.address.state = "resting";
  ip.address.rested = state.rests;
}

export function ipStatus(ip: ModelIp): string {
  if (ip.wantedBy === null) return ip.heldBy === null ? "free" : "detaching";
  return ip.isApplied ? "attached" : "attaching";
}

/** Those that a server has, should have, or has not released yet. */
export function ipsOf(state: ModelState, server: ModelServer): ModelIp[] {
  return state.ips.filter((ip) => !ip.isGone && (ip.wantedBy === server || ip.heldBy === server));
}

/** A job of the server is retried, and with it its pending addresses. */
export function retryIps(state: ModelState, server: ModelServer): void {
  for (const ip of ipsOf(state, server)) ip.reason = null;
}

/** What the end of any job of a server means for its addresses. */
export function settleIps(state: ModelState, job: ModelJob, atNextBoot: boolean): void {
  const { server } = job;
  const ips = ipsOf(state, server).sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const ip of ips) {
    if (job.status !== "succeeded") notDone(ip, job);
    else if (job.kind === "ServerDestroy") destroyed(state, ip, job);
    else done(ip, job, atNextBoot);
  }
  catchUp(state, server);
}

const isIpJob = (job: ModelJob) => job.kind === "PublicIpAttach" || job.kind === "PublicIpDetach";

function done(ip: ModelIp, job: ModelJob, atNextBoot: boolean): void {
  if (ip.heldBy !== job.server) return;
  const makesInterfaces = isIpJob(job) || job.kind === "ServerCreate" || job.kind === "ServerRebuild";
  if (!makesInterfaces) {
    const hasBooted =
      job.kind === "ServerRestore" ||
      job.kind === "ServerStop" ||
      (job.kind === "ServerPower" && job.order.action !== "reset");
    if (hasBooted) ip.needsReboot = false;
  } else if (ip.wantedBy !== job.server) leaves(ip);
  else {
    ip.isApplied = true;
    ip.needsReboot = isIpJob(job) && atNextBoot;
    ip.reason = null;
  }
}

/** No VM has it any more: it is free, or its way to the server that waits for it begins. */
function leaves(ip: ModelIp): void {
  const to = ip.wantedBy;
  ip.heldBy = to;
  ip.isApplied = false;
  ip.needsReboot = false;
  ip.reason = null;
  if (to === null) return;
  const queued = openJob(to, "queued");
  if (queued?.kind === "PublicIpAttach") queued.waits = false;
  else if (hasOpenJob(to)) return;
  else if (to.status === "running" || to.status === "stopped") addJob(to, null, "PublicIpAttach", "queued");
  else if (!isLeaving(to.status)) ip.reason = "attach_failed";
}

function notDone(ip: ModelIp, job: ModelJob): void {
  const { server } = job;
  const isComing = ip.wantedBy === server && ip.heldBy === server && !ip.isApplied;
  if (job.kind === "ServerCreate" && isComing) ip.reason = "create_failed";
  // A job that was superseded by a removal is settled at the removal's end.
  if (!isIpJob(job) || (job.status === "cancelled" && server.status === "pending_deletion")) return;
  if (isComing) ip.reason = "attach_failed";
  else if (ip.heldBy === server && ip.wantedBy !== server) {
    if (ip.wantedBy === null) ip.reason = "detach_failed";
    else {
      const queued = openJob(ip.wantedBy, "queued");
      if (queued?.kind === "PublicIpAttach") preemptQueuedJob(queued);
      ip.wantedBy = server;
      ip.reason = "move_failed";
    }
  }
}

function destroyed(state: ModelState, ip: ModelIp, job: ModelJob): void {
  const { server } = job;
  if (ip.wantedBy !== server) {
    leaves(ip);
    return;
  }
  const wasThere = ip.heldBy === server;
  ip.wantedBy = null;
  if (wasThere) ip.heldBy = null;
  ip.isApplied = false;
  ip.needsReboot = false;
  ip.reason = null;
  if (wasThere && ip.goesWithServer && !ip.isProtected) applyReleaseIp(state, ip);
}

/** A pending address always has a job: one that was superseded, or could not be queued yet, is queued now. */
export function catchUp(state: ModelState, server: ModelServer): void {
  const mayAttach = server.status === "running" || server.status === "stopped";
  if (!mayAttach && server.status !== "error" && server.status !== "pending_deletion") return;
  if (hasOpenJob(server)) return;
  const ips = ipsOf(state, server).filter(({ reason }) => reason === null);
  const coming = ips.filter((ip) => ip.wantedBy === server && ip.heldBy === server && !ip.isApplied);
  // No job can be applied to a server in error: the address names that as its reason.
  if (server.status === "error") for (const ip of coming) ip.reason = "attach_failed";
  const isGoing = ips.some((ip) => ip.heldBy === server && ip.wantedBy !== server);
  if (coming.length > 0 && mayAttach) addJob(server, null, "PublicIpAttach", "queued");
  else if (isGoing) addJob(server, null, "PublicIpDetach", "queued");
}
