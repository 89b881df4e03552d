import { cancelQueued, hasOpenJob, isLeaving, type ModelState, openJob } from "./model-state.ts";
import type { ModelIp, ModelJob, ModelServer } from "./types.ts";

/** A released address is in quarantine: traffic for its last owner must end before it is reserved again. */
export function applyReleaseIp(state: ModelState, ip: ModelIp): void {
  state.rests += 1;
  ip.isGone = true;
  ip.address.state = "resting";
  ip.address.rested = state.rests;
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
    else done(state, ip, job, atNextBoot);
  }
  catchUp(state, server);
}

const isIpJob = (job: ModelJob) => job.kind === "PublicIpAttach" || job.kind === "PublicIpDetach";

function done(state: ModelState, ip: ModelIp, job: ModelJob, atNextBoot: boolean): void {
  if (ip.heldBy !== job.server) return;
  const makesInterfaces = isIpJob(job) || job.kind === "ServerCreate" || job.kind === "ServerRebuild";
  if (!makesInterfaces) {
    const hasBooted =
      job.kind === "ServerRestore" ||
      job.kind === "ServerStop" ||
      (job.kind === "ServerPower" && job.order.action !== "reset");
    if (hasBooted) ip.needsReboot = false;
  } else if (ip.wantedBy !== job.server) leaves(state, ip);
  else {
    ip.isApplied = true;
    ip.needsReboot = isIpJob(job) && atNextBoot;
    ip.reason = null;
  }
}

/** No VM has it any more: it is free, or its way to the server that waits for it begins. */
function leaves(state: ModelState, ip: ModelIp): void {
  const to = ip.wantedBy;
  Object.assign(ip, { heldBy: to, isApplied: false, needsReboot: false, reason: null });
  if (to === null) return;
  const queued = openJob(to, "queued");
  if (queued?.kind === "PublicIpAttach") queued.runAt = state.moment();
  else if (hasOpenJob(to)) return;
  else if (to.status === "running" || to.status === "stopped") state.addJob(to, "PublicIpAttach");
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
      if (queued?.kind === "PublicIpAttach") cancelQueued(queued, "move_failed");
      ip.wantedBy = server;
      ip.reason = "move_failed";
    }
  }
}

function destroyed(state: ModelState, ip: ModelIp, job: ModelJob): void {
  const { server } = job;
  if (ip.wantedBy !== server) {
    leaves(state, ip);
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
  if (coming.length > 0 && mayAttach) state.addJob(server, "PublicIpAttach");
  else if (isGoing) state.addJob(server, "PublicIpDetach");
}
