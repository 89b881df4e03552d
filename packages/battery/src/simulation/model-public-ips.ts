// Public addresses in the model: the requests of people, and what the end of any job of a server means for
// its own. apps/api's attach-public-ip.ts, detach-public-ip.ts and public-ips/settle.ts, with packages/rules
// deciding in both.

import type { Schemas, ServerJobKind } from "@kule/contract/schemas";
import { isPreemptedByInterfaceJobs } from "@kule/rules/jobs/actions";
import {
  decideAttach,
  decideDetach,
  type Holder,
  type PublicIpFacts,
} from "@kule/rules/public-ips/lifecycle";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { macAddress } from "@kule/rules/servers/mac";
import type { ControlPlaneModel } from "./control-plane.ts";
import { cancelQueued, type ModelAnswer, refused } from "./model-refusals.ts";
import type { ModelJob, ModelPublicIp, ModelServer, ModelState } from "./model-state.ts";

export type IpAnswer = ModelAnswer<{
  readonly ip: ModelPublicIp;
  readonly server: ModelServer;
  readonly job: ModelJob;
}>;

const NET = "100.90.0";
const GATEWAY = 254;
/** Called, not awaited: the address has to leave another server first. */
const NOT_YET = Number.POSITIVE_INFINITY;

export const addressOfIp = ({ number }: Pick<ModelPublicIp, "number">): string => `${NET}.${number}`;

/** Attaches the address to the server; with force it is moved there. */
export function attachPublicIp(
  model: ControlPlaneModel,
  number: number,
  serverId: string,
  force: boolean,
): IpAnswer {
  const { state } = model;
  const ip = state.publicIps[number - 1];
  const target = state.servers.get(serverId);
  if (ip === undefined) return refused(404, "not_found");
  if (target === undefined || target.status === "deleted") return refused(422, "validation_failed");
  const others = state.publicIps
    .filter((each) => each.serverId === serverId)
    .map((each) => ({ id: addressOfIp(each), version: 4, vlan: null }));
  const [first] = decideAttach(factsOf(state, ip), { ...holderOf(state, target), others }, force);
  if (first !== undefined) return refused(409, first.code);
  const leaves = ip.heldBy !== null && ip.heldBy !== serverId ? ip.heldBy : null;
  Object.assign(ip, { serverId, heldBy: leaves ?? serverId, ...onItsWay(ip) });
  const from = state.servers.get(leaves ?? "");
  for (const server of from === undefined ? [target] : [from, target]) model.passWaitingRules(server);
  if (leaves !== null) state.addJob("PublicIpDetach", leaves);
  const job = state.addJob("PublicIpAttach", serverId);
  if (leaves !== null) job.runAt = NOT_YET;
  model.onNews();
  return { status: 202, body: { ip, server: target, job } };
}

export function detachPublicIp(model: ControlPlaneModel, number: number): IpAnswer {
  const { state } = model;
  const ip = state.publicIps[number - 1];
  if (ip === undefined) return refused(404, "not_found");
  const [first] = decideDetach(factsOf(state, ip));
  if (first !== undefined) return refused(409, first.code);
  const server = state.servers.get(ip.heldBy ?? "");
  if (server === undefined) throw new Error(`${addressOfIp(ip)} is attached to nobody's VM`);
  Object.assign(ip, { serverId: null, ...onItsWay(ip) });
  model.passWaitingRules(server);
  const job = state.addJob("PublicIpDetach", server.id);
  model.onNews();
  return { status: 202, body: { ip, server, job } };
}

function onItsWay(ip: ModelPublicIp): Partial<ModelPublicIp> {
  return { isApplied: false, requiresReboot: false, statusCode: null, generation: ip.generation + 1 };
}

function factsOf(state: ModelState, ip: ModelPublicIp): PublicIpFacts {
  const holder = state.servers.get(ip.serverId ?? ip.heldBy ?? "");
  const isMoving = ip.serverId !== null && ip.heldBy !== null && ip.heldBy !== ip.serverId;
  const keeper = isMoving ? state.servers.get(ip.heldBy ?? "") : undefined;
  return {
    id: addressOfIp(ip),
    region: "lab1",
    version: 4,
    vlan: null,
    serverId: ip.serverId,
    heldBy: ip.heldBy,
    isApplied: ip.isApplied,
    isProtected: false,
    holder: holder === undefined ? null : holderOf(state, holder),
    keeper: keeper === undefined ? null : holderOf(state, keeper),
    gateway: null,
  };
}

function holderOf(state: ModelState, server: ModelServer): Holder {
  const { running, queued } = state.openJobs(server.id);
  return {
    id: server.id,
    region: "lab1",
    status: server.status as ServerStatus,
    hasOpenJob: running !== null || (queued !== null && !isPreemptedByInterfaceJobs(queued.kind)),
    lockedFor: null,
  };
}

/** The interface that the server's VM should have now; null for none. */
export function publicInterfaceOf(
  state: ModelState,
  server: ModelServer,
  vmid: number,
): Schemas["PayloadPublicInterface"] | null {
  const own = state.publicIps.filter((ip) => ip.serverId === server.id && ip.heldBy === server.id);
  if (own.length === 0) return null;
  return {
    mac: macAddress(1, vmid, 1),
    vlan: null,
    addresses: own.map((ip) => ({
      version: 4,
      address: addressOfIp(ip),
      prefix_length: 24,
      gateway: `${NET}.${GATEWAY}`,
    })),
  };
}

export type IpEnd = {
  readonly status: "succeeded" | "failed" | "cancelled";
  readonly publicNetwork: "applied" | "next_boot" | null;
};

const isPublicIpJob = ({ kind }: ModelJob) => kind === "PublicIpAttach" || kind === "PublicIpDetach";
/** Jobs that apply the wanted interfaces to the VM. */
const applies = new Set<ServerJobKind>(["ServerCreate", "ServerRebuild", "PublicIpAttach", "PublicIpDetach"]);
/** Jobs after which a guest has booted from its drive, or will when it is on again. */
const boots = new Set<ServerJobKind>(["ServerCreate", "ServerRebuild", "ServerRestore", "ServerStop"]);

export function settlePublicIps(state: ModelState, server: ModelServer, job: ModelJob, end: IpEnd): void {
  for (const ip of ipsOf(state, server.id)) {
    if (job.kind === "ServerDestroy" && end.status === "succeeded") purged(state, ip, server);
    else if (end.status === "succeeded") done(state, ip, server, job, end);
    else notDone(state, ip, server, job, end);
  }
  catchUp(state, server);
}

/** A job of the server is retried: its addresses are pending again. */
export function retryPublicIps(state: ModelState, job: ModelJob): void {
  for (const ip of ipsOf(state, job.serverId)) ip.statusCode = null;
}

const ipsOf = (state: ModelState, serverId: string) =>
  state.publicIps.filter((ip) => ip.serverId === serverId || ip.heldBy === serverId);

function done(state: ModelState, ip: ModelPublicIp, server: ModelServer, job: ModelJob, end: IpEnd): void {
  if (ip.heldBy !== server.id) return;
  if (applies.has(job.kind)) {
    const requiresReboot = isPublicIpJob(job) && end.publicNetwork === "next_boot";
    if (ip.serverId === server.id) Object.assign(ip, { statusCode: null, isApplied: true, requiresReboot });
    else leave(state, ip);
    return;
  }
  const hasBooted = boots.has(job.kind) || (job.kind === "ServerPower" && job.parameters.action !== "reset");
  if (hasBooted) ip.requiresReboot = false;
}

/** The server's VM no longer has the address: it is free, or goes to the server that waits for it. */
function leave(state: ModelState, ip: ModelPublicIp): void {
  Object.assign(ip, { statusCode: null, heldBy: ip.serverId, isApplied: false, requiresReboot: false });
  const heir = state.servers.get(ip.serverId ?? "");
  if (heir === undefined) return;
  const { queued, running } = state.openJobs(heir.id);
  if (queued?.kind === "PublicIpAttach") {
    queued.runAt = state.moment();
    return;
  }
  if (queued !== null || running !== null) return;
  if (heir.status === "running" || heir.status === "stopped") state.addJob("PublicIpAttach", heir.id);
  else if (heir.status !== "pending_deletion" && heir.status !== "deleting") ip.statusCode = "attach_failed";
}

function notDone(state: ModelState, ip: ModelPublicIp, server: ModelServer, job: ModelJob, end: IpEnd): void {
  const isComing = ip.serverId === server.id && ip.heldBy === server.id && !ip.isApplied;
  const isLeaving = ip.heldBy === server.id && ip.serverId !== server.id;
  if (job.kind === "ServerCreate" && isComing) {
    ip.statusCode = "create_failed";
    return;
  }
  if (!isPublicIpJob(job)) return;
  if (end.status === "cancelled" && server.status === "pending_deletion") return;
  if (isComing) ip.statusCode = "attach_failed";
  else if (isLeaving && ip.serverId !== null) {
    const { queued } = state.openJobs(ip.serverId);
    if (queued?.kind === "PublicIpAttach") cancelQueued(queued, "move_failed");
    Object.assign(ip, { statusCode: "move_failed", serverId: server.id });
  } else if (isLeaving) ip.statusCode = "detach_failed";
}

/** The server is gone, and with it whatever its VM had. */
function purged(state: ModelState, ip: ModelPublicIp, server: ModelServer): void {
  if (ip.serverId !== server.id) {
    leave(state, ip);
    return;
  }
  Object.assign(ip, {
    statusCode: null,
    serverId: null,
    heldBy: ip.heldBy === server.id ? null : ip.heldBy,
    isApplied: false,
    requiresReboot: false,
  });
}

/** A pending address always has a job. */
function catchUp(state: ModelState, server: ModelServer): void {
  const canAttach = server.status === "running" || server.status === "stopped";
  if (!canAttach && server.status !== "error" && server.status !== "pending_deletion") return;
  const { queued, running } = state.openJobs(server.id);
  if (queued !== null || running !== null) return;
  const ips = ipsOf(state, server.id).filter((ip) => ip.statusCode === null);
  const comes = ips.some((ip) => ip.serverId === server.id && ip.heldBy === server.id && !ip.isApplied);
  const leaves = ips.some((ip) => ip.heldBy === server.id && ip.serverId !== server.id);
  if (comes && canAttach) state.addJob("PublicIpAttach", server.id);
  else if (leaves) state.addJob("PublicIpDetach", server.id);
}
