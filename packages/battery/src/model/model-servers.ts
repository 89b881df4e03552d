import { refusalOf, type ServerAction } from "./model-actions.ts";
import { catchUp, retryIps, settleIps, takeableAddress } from "./model-public-ips.ts";
import { fullFor, takenByResize, takenByRestore, takenByServer } from "./model-quotas.ts";
import {
  absent,
  type Expected,
  hasOpenJob,
  isLeaving,
  liveNetworks,
  liveSubnets,
  type ModelIp,
  type ModelJob,
  type ModelServer,
  type ModelState,
  type ModelSubnet,
  openJob,
  type Power,
  packageOf,
  preemptQueuedJob,
  refused,
  type Side,
} from "./model-state.ts";

/** Where a new server goes: the named subnet, or the one that the API has to find. */
export type Place =
  | { readonly kind: "subnet"; readonly subnet: ModelSubnet }
  | { readonly kind: "new default network" }
  | { readonly kind: "nowhere" };

export function placeFor(state: ModelState, side: Side, named: ModelSubnet | null): Place {
  if (named !== null) {
    const isOwn = liveSubnets(state, side).includes(named);
    return isOwn ? { kind: "subnet", subnet: named } : { kind: "nowhere" };
  }
  const subnets = liveSubnets(state, side);
  const usual = subnets.find(({ name, network }) => network.name === "default" && name === "app");
  const [only, ...others] = subnets;
  const chosen = usual ?? (others.length === 0 ? only : undefined);
  if (chosen !== undefined) return { kind: "subnet", subnet: chosen };
  return liveNetworks(state, side).length > 0 ? { kind: "nowhere" } : { kind: "new default network" };
}

/** The properties of a new server, other than its place. */
export type Wish = {
  readonly name: string;
  readonly slug: string;
  readonly key: { readonly side: Side; readonly isGone: boolean } | null;
  /** "auto" reserves an address; null requests none. */
  readonly publicIp: "auto" | ModelIp | null;
};

export function expectCreate(state: ModelState, side: Side, wish: Wish, place: Place): Expected {
  const { key, publicIp } = wish;
  if (place.kind === "nowhere") return { status: 422 };
  if (key !== null && (key.side !== side || key.isGone)) return { status: 422 };
  if (publicIp !== null && publicIp !== "auto" && (publicIp.side !== side || publicIp.isGone))
    return { status: 422 };
  if (isNameTaken(state, side, wish.name)) return refused("name_taken");
  const isFirst = place.kind === "new default network";
  if (isFirst && state.vlansLeft === 0) return refused("vlan_exhausted");
  if (state.vmidsLeft === 0) return refused("vmid_exhausted");
  const full = fullFor(state, side, {
    ...takenByServer(wish.slug),
    ...(isFirst ? { networks: 1, subnets: 1 } : {}),
    ...(publicIp === "auto" ? { public_ips: 1 } : {}),
  });
  if (full !== null) return full;
  if (place.kind === "subnet" && place.subnet.given >= place.subnet.capacity)
    return refused("subnet_exhausted");
  if (publicIp === null) return { status: 202 };
  if (place.kind === "subnet" && place.subnet.tier === "data") return refused("tier_forbids_egress");
  if (publicIp === "auto")
    return takeableAddress(state, side, 4) === null ? refused("no_public_ip_available") : { status: 202 };
  const isFree = publicIp.wantedBy === null && publicIp.heldBy === null;
  return isFree ? { status: 202 } : refused("already_attached");
}

export function isNameTaken(state: ModelState, side: Side, name: string): boolean {
  return state.servers.some(
    (server) => server.side === side && server.name === name && server.status !== "deleted",
  );
}

/** Another organisation's server is as absent as one that was destroyed. */
export function isAbsent(server: ModelServer, side: Side): boolean {
  return server.side !== side || server.status === "deleted";
}

/** The API's answer to an action that depends on nothing but the server's state. */
export function expectAction(action: ServerAction, server: ModelServer, side: Side): Expected {
  if (isAbsent(server, side)) return absent;
  const code = refusalOf(action, server);
  return code === null ? { status: 202 } : refused(code);
}

export type Changes = {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly protection?: { readonly delete?: boolean; readonly rebuild?: boolean };
};

export function expectUpdate(state: ModelState, server: ModelServer, side: Side, changes: Changes): Expected {
  if (isAbsent(server, side)) return absent;
  const isRenamed = changes.name !== undefined && changes.name !== server.name;
  const code = refusalOf("update", server) ?? (isRenamed ? refusalOf("rename", server) : null);
  if (code !== null) return refused(code);
  if (!isRenamed) return { status: 200 };
  return isNameTaken(state, side, changes.name ?? "") ? refused("name_taken") : { status: 202 };
}

export function applyUpdate(server: ModelServer, { name, labels = {}, protection }: Changes): void {
  server.labels = Object.fromEntries(
    Object.entries({ ...server.labels, ...labels }).flatMap(([key, value]) =>
      value === null ? [] : [[key, value] as const],
    ),
  );
  server.name = name ?? server.name;
  server.isProtected = protection?.delete ?? server.isProtected;
  server.isRebuildProtected = protection?.rebuild ?? server.isRebuildProtected;
}

/** Marks it for removal: queued jobs are superseded, and running ones asked to end. */
export function applyDelete(server: ModelServer): void {
  stopOthers(server);
  server.restoresTo = restoredState(server);
  server.status = "pending_deletion";
}

/** Without a removal buffer, or out of it before its time. */
export function applyPurge(server: ModelServer): void {
  stopOthers(server);
  if (server.status !== "pending_deletion") server.restoresTo = restoredState(server);
  server.status = "deleting";
}

function stopOthers(server: ModelServer): void {
  const running = openJob(server, "running");
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(queued);
  if (running !== undefined && running.kind !== "ServerStop") running.cancelRequested = true;
}

function restoredState(server: ModelServer): "running" | "stopped" | "error" {
  if (!server.wasCreated) return "error";
  switch (server.status) {
    case "running":
    case "starting":
    case "rebooting":
      return "running";
    case "stopped":
    case "stopping":
      return "stopped";
    default:
      return server.power === "on" ? "running" : "stopped";
  }
}

export function expectCancelDeletion(state: ModelState, server: ModelServer, side: Side): Expected {
  const expected = expectAction("cancel_deletion", server, side);
  if (expected.status !== 202) return expected;
  return fullFor(state, side, takenByRestore(server)) ?? expected;
}

/** @returns whether the job that restores it is over at once, because there is nothing to restore */
export function applyCancelDeletion(state: ModelState, server: ModelServer): boolean {
  const running = openJob(server, "running");
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(queued);
  if (running?.kind === "ServerStop") running.cancelRequested = true;
  const to = server.restoresTo ?? "error";
  if (to === "error") server.status = running?.kind === "ServerCreate" ? "creating" : "error";
  else server.status = to === "running" ? "starting" : "stopped";
  if (to === "error") catchUp(state, server);
  return to === "error";
}

export type ResizeRequest = {
  readonly slug: string;
  readonly growDisk: boolean;
  readonly allowRestart: boolean;
};

export const diskAfter = (server: ModelServer, { slug, growDisk }: ResizeRequest): number =>
  growDisk ? Math.max(server.diskGb, packageOf(slug).diskGb) : server.diskGb;

export function expectResize(
  state: ModelState,
  server: ModelServer,
  side: Side,
  wish: ResizeRequest,
): Expected {
  const expected = expectAction("resize", server, side);
  if (expected.status !== 202) return expected;
  if (wish.slug === server.package && diskAfter(server, wish) === server.diskGb)
    return refused("invalid_state", "package_differs");
  const [has, comes] = [packageOf(server.package), packageOf(wish.slug)];
  if (wish.growDisk && comes.diskGb < server.diskGb) return refused("disk_shrink_forbidden");
  const restarts = has.vcpu !== comes.vcpu || has.memoryMb !== comes.memoryMb;
  if (server.status === "running" && restarts && !wish.allowRestart) return refused("invalid_state");
  return fullFor(state, side, takenByResize(server, wish.slug, diskAfter(server, wish))) ?? expected;
}

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
  if (job.kind !== "ServerCreate") return false;
  return job.status === "queued" || (job.status === "running" && !job.isIrreversible);
}

export function applyCancelJob(state: ModelState, job: ModelJob): void {
  if (job.status === "running") job.cancelRequested = true;
  else {
    job.status = "cancelled";
    settle(state, job, nothingSeen);
  }
}

export function expectRetry(state: ModelState, job: ModelJob, side: Side): Expected {
  if (job.server.side !== side) return absent;
  if (!isRetryable(job)) return refused("invalid_state");
  const { resize } = job.order;
  const full =
    resize === undefined ? null : fullFor(state, side, takenByResize(job.server, resize.slug, resize.diskGb));
  return full ?? { status: 202 };
}

/**
 * After a rebuild that failed the server's disk was used, or it is being deleted. A power action that did
 * nothing used no disk.
 */
const overtakes = (later: ModelJob, kind: string) =>
  later.kind === kind || (kind === "ServerRebuild" && !later.kind.startsWith("PublicIp") && !isVain(later));
const isVain = ({ kind, status }: ModelJob) => kind === "ServerPower" && status !== "succeeded";

/** The last rebuild has destroyed the disk, and none was used since. */
function hasNoDisk({ jobs }: ModelServer): boolean {
  const last = jobs.findLast((each) => overtakes(each, "ServerRebuild"));
  if (last?.kind !== "ServerRebuild" || !last.isIrreversible) return false;
  return last.status === "failed" || last.status === "cancelled";
}

export function isRetryable(job: ModelJob): boolean {
  if (job.status !== "failed" && job.status !== "cancelled") return false;
  const { server, kind } = job;
  if (server.isLocked || hasOpenJob(server)) return false;
  if (server.jobs.findLast((each) => overtakes(each, kind)) !== job) return false;
  const { status, wasCreated } = server;
  const isSteady = status === "running" || status === "stopped";
  switch (kind) {
    case "ServerCreate":
      return status === "error" && !wasCreated;
    case "ServerRestore":
      return status === "error" && wasCreated;
    // A rebuild that has destroyed nothing is requested again.
    case "ServerRebuild":
      return status === "error" && wasCreated && job.isIrreversible;
    case "ServerStop":
      return status === "pending_deletion";
    case "ServerDestroy":
      return status === "deleting";
    case "ServerResize":
      return (isSteady || status === "error") && wasCreated;
    case "ServerUpdate":
      return isSteady && wasCreated;
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

/** A job that was held too long this often fails with the next claim; the model stays below. */
export const LONGEST_HELD = 5;

export function applyRetry(state: ModelState, job: ModelJob): void {
  job.status = "queued";
  job.claims = 0;
  job.cancelRequested = false;
  job.waits = false;
  const { server } = job;
  retryIps(state, server);
  if (job.kind === "ServerCreate") server.status = "creating";
  if (job.kind === "ServerRebuild") server.status = "rebuilding";
  if (job.kind === "ServerRestore") server.status = server.restoresTo === "running" ? "starting" : "stopped";
  if (job.order.resize !== undefined) {
    server.status = "resizing";
    server.growsTo = job.order.resize;
  }
}

/** Jobs that the region's agent may be given: one at a time for each server. */
export function claimable(state: ModelState): ModelJob[] {
  return state.servers.flatMap((server) => {
    const queued = openJob(server, "queued");
    const isNext = queued !== undefined && !queued.waits && openJob(server, "running") === undefined;
    return isNext ? [queued] : [];
  });
}

/** The agent releases the job: it is queued again, unless it is no longer wanted. */
export function applyRelease(state: ModelState, job: ModelJob): void {
  const isWanted = !job.cancelRequested && openJob(job.server, "queued") === undefined;
  job.status = isWanted ? "queued" : "cancelled";
  job.claims -= 1;
  if (!isWanted) settle(state, job, nothingSeen);
}

/** What the agent reported at the end of a job. */
export type Seen = {
  readonly power: "on" | "off" | null;
  readonly code: string | null;
  /** Its guest applies the change of its addresses at its next boot. */
  readonly atNextBoot: boolean;
};

const nothingSeen: Seen = { power: null, code: null, atNextBoot: false };

export function applyEnd(
  state: ModelState,
  job: ModelJob,
  status: "succeeded" | "failed" | "cancelled",
  seen: Seen,
): void {
  // A job without a request to stop has not been cancelled.
  job.status = status === "cancelled" && !job.cancelRequested ? "failed" : status;
  settle(state, job, seen);
}

/** What the end of a job means for its server, and then for the server's addresses. */
function settle(state: ModelState, job: ModelJob, seen: Seen): void {
  const { server } = job;
  const succeeded = job.status === "succeeded";
  switch (job.kind) {
    case "ServerCreate":
    case "ServerRestore":
      if (succeeded) present(job, seen.power ?? (wantsRunning(job) ? "on" : "off"));
      else {
        server.power = seen.power ?? server.power;
        const isIts = job.kind === "ServerCreate" ? server.status === "creating" : !isLeaving(server.status);
        if (isIts) server.status = "error";
      }
      break;
    case "ServerStop":
      server.power = succeeded ? "off" : (seen.power ?? server.power);
      break;
    case "ServerDestroy":
      server.power = succeeded ? "off" : (seen.power ?? server.power);
      if (succeeded) server.status = "deleted";
      break;
    case "PublicIpAttach":
    case "PublicIpDetach":
      server.power = seen.power ?? server.power;
      followsPower(server);
      break;
    case "ServerRebuild":
      rebuilt(job, seen);
      break;
    default:
      operated(job, seen);
  }
  if (job.kind === "ServerResize") {
    server.growsTo = null;
    if (succeeded && job.order.resize !== undefined) {
      server.package = job.order.resize.slug;
      server.diskGb = job.order.resize.diskGb;
    }
  }
  settleIps(state, job, seen.atNextBoot);
}

function present(job: ModelJob, power: "on" | "off"): void {
  const { server, kind } = job;
  const steady = power === "on" ? "running" : "stopped";
  server.power = power;
  server.wasCreated = true;
  if (server.status === "pending_deletion") server.restoresTo = steady;
  else if (kind === "ServerRestore") server.restoresTo = null;
  if (!isLeaving(server.status)) server.status = steady;
}

/** Whether the server should run after the job, if the region does not report it. */
function wantsRunning({ kind, order, server }: ModelJob): boolean {
  switch (kind) {
    case "ServerCreate":
      return server.starts;
    case "ServerPower":
      return order.action !== "shutdown" && order.action !== "stop";
    case "ServerResize":
      return order.resize?.run === true;
    case "ServerRebuild":
      return true;
    case "ServerRestore":
      return server.restoresTo === "running";
    default:
      return server.power === "on";
  }
}

/** A job that leaves the server on or off; and in error when there was no VM that it could have worked on. */
function operated(job: ModelJob, seen: Seen): void {
  const { server } = job;
  const succeeded = job.status === "succeeded";
  const asked: Power = succeeded ? (wantsRunning(job) ? "on" : "off") : server.power;
  server.power = seen.power ?? asked;
  if (isLeaving(server.status) || openJob(server, "queued") !== undefined) return;
  const isGone = job.status === "failed" && seen.code === "vm_missing";
  const steady = server.power === "on" ? "running" : server.power === "off" ? "stopped" : "error";
  const isOfNoUse = job.kind === "ServerPower" && !succeeded && server.power !== "on" && hasNoDisk(server);
  server.status = isGone || isOfNoUse ? "error" : steady;
}

/** Its addresses were changed and not its power; what was seen of that all the same is what it is. */
function followsPower(server: ModelServer): void {
  if (openJob(server, "queued") !== undefined || server.power === "unknown") return;
  if (server.status === "running" || server.status === "stopped")
    server.status = server.power === "on" ? "running" : "stopped";
}

/** A server whose disk is gone, or incomplete, cannot be used until the rebuild has succeeded. */
function rebuilt(job: ModelJob, seen: Seen): void {
  const { server, order } = job;
  const succeeded = job.status === "succeeded";
  const isBroken = !succeeded && job.isIrreversible;
  operated(job, isBroken ? { ...seen, power: seen.power ?? "off" } : seen);
  const isOthers = isLeaving(server.status) || openJob(server, "queued") !== undefined;
  if (isBroken && !isOthers) server.status = "error";
  if (succeeded && order.rebuild !== undefined) {
    server.image = order.rebuild.image;
    server.keys = order.rebuild.keys;
  }
}

/** The removal buffer ends: from here on the server cannot be restored. */
export function applyExpiry(server: ModelServer): void {
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(queued);
  server.status = "deleting";
}
