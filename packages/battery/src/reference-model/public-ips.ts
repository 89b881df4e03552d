import { absent, type Expected, refused, unless } from "./answers.ts";
import { preemptQueuedJob } from "./endings.ts";
import { hasOpenJobButRules, isLeaving, type ModelState, NOT_YET, openJob } from "./model-state.ts";
import { fullFor } from "./quotas.ts";
import type { ModelAddress, ModelIp, ModelJob, ModelServer, Side } from "./types.ts";

/**
 * The address that a request for any gets: one that was never used, or the one whose quarantine began first.
 */
export function takeableAddress(state: ModelState, side: Side, version: 4 | 6): ModelAddress | null {
  const free = state.settings.addresses.filter(
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
    number: state.ips.length + 1,
    side,
    address,
    wantedBy: null,
    heldBy: null,
    isApplied: false,
    needsReboot: false,
    reason: null,
    generation: 1,
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
  return hasOpenJobButRules(server) ? "invalid_state" : null;
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
  return unless(attachRefusal(state, ip, target, force), { status: 202 });
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

/** @returns the job of the server, and before it that of the one that must release the address first */
export function applyAttach(
  state: ModelState,
  ip: ModelIp,
  target: ModelServer,
): { readonly job: ModelJob; readonly before: ModelJob | null } {
  const from = ip.heldBy === target ? null : ip.heldBy;
  ip.wantedBy = target;
  ip.heldBy = from ?? target;
  setOut(ip);
  for (const server of from === null ? [target] : [from, target]) passWaitingRules(state, server);
  const before = from === null ? null : state.addJob(from, "PublicIpDetach");
  const job = state.addJob(target, "PublicIpAttach");
  if (before !== null) job.runAt = NOT_YET;
  return { job, before };
}

function setOut(ip: ModelIp): void {
  Object.assign(ip, { isApplied: false, needsReboot: false, reason: null, generation: ip.generation + 1 });
}

/** The round of its firewalls that waits is superseded by a job that brings the rules along. */
export function passWaitingRules(state: ModelState, server: ModelServer): void {
  const queued = openJob(server, "queued");
  if (queued?.kind === "FirewallApply") preemptQueuedJob(state, queued);
}

export function detachRefusal(ip: ModelIp): string | null {
  return holderOf(ip) === null ? "not_attached" : attachedSomewhere(ip);
}

export function expectDetach(ip: ModelIp, side: Side): Expected {
  if (isAbsentIp(ip, side)) return absent;
  return unless(detachRefusal(ip), { status: 202 });
}

export function applyDetach(state: ModelState, ip: ModelIp): ModelJob {
  const { heldBy } = ip;
  if (heldBy === null) throw new Error(`${ip.address.address} is on nobody's VM`);
  ip.wantedBy = null;
  setOut(ip);
  passWaitingRules(state, heldBy);
  return state.addJob(heldBy, "PublicIpDetach");
}

export function releaseRefusal(ip: ModelIp): string | null {
  if (ip.isProtected) return "protected";
  return holderOf(ip) === null ? null : "in_use";
}

export function expectRelease(ip: ModelIp, side: Side): Expected {
  if (isAbsentIp(ip, side)) return absent;
  return unless(releaseRefusal(ip), { status: 204 });
}

export function ipStatus(ip: ModelIp): string {
  if (ip.wantedBy === null) return ip.heldBy === null ? "free" : "detaching";
  return ip.isApplied ? "attached" : "attaching";
}
