// What people may ask of servers: `expect…` is the API's answer, and `apply…` what a request that is accepted does.

import { absent, type Expected, refused, unless } from "./answers.ts";
import { preemptQueuedJob } from "./endings.ts";
import {
  diskOf,
  liveNetworks,
  liveSubnets,
  type ModelState,
  openJob,
  packageOf,
  wasCreated,
} from "./model-state.ts";
import { catchUp } from "./public-ip-endings.ts";
import { passWaitingRules, takeableAddress } from "./public-ips.ts";
import { fullFor, takenByResize, takenByRestore, takenByServer } from "./quotas.ts";
import { refusalOf, type ServerAction } from "./server-actions.ts";
import type {
  ModelIp,
  ModelJob,
  ModelServer,
  ModelSubnet,
  Order,
  PowerAction,
  ServerJobKind,
  Side,
} from "./types.ts";

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
type Wish = {
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

export type NewServer = Pick<
  ModelServer,
  "id" | "side" | "subnet" | "name" | "package" | "image" | "keys" | "starts"
>;

export function applyCreate(state: ModelState, wanted: NewServer): ModelJob {
  const server = addServer(state, wanted);
  state.takeVmid(server);
  return state.addJob(server, "ServerCreate");
}

function addServer(state: ModelState, wanted: NewServer): ModelServer {
  wanted.subnet.given += 1;
  const server: ModelServer = {
    ...wanted,
    host: wanted.subnet.given,
    mac: null,
    jobs: [],
    labels: {},
    status: "creating",
    reason: null,
    isProtected: false,
    isRebuildProtected: false,
    isLocked: false,
    power: "unknown",
    restoresTo: null,
    purgeAt: null,
    diskGb: null,
    hasSecret: true,
    growsTo: null,
    generation: 1,
    observedGeneration: 0,
    filter: { wanted: "", applied: "", failed: false },
  };
  state.servers.push(server);
  return server;
}

/** A VM that was created manually, under one of the region's numbers. */
export function expectAdopt(state: ModelState, side: Side, vmid: number, name: string): Expected {
  const { first, last } = state.settings.vmidRange;
  if (vmid < first || vmid > last) return { status: 422 };
  if (isNameTaken(state, side, name)) return refused("name_taken");
  const allocation = state.vmids.get(vmid);
  const isFree = allocation === undefined || allocation.state === "quarantined";
  return isFree ? { status: 202 } : refused("in_use");
}

export function applyAdopt(state: ModelState, wanted: NewServer, vmid: number): ModelJob {
  const server = addServer(state, wanted);
  server.hasSecret = false;
  server.isProtected = true;
  state.vmids.set(vmid, { state: "used", server });
  return state.addJob(server, "ServerAdopt");
}

function isNameTaken(state: ModelState, side: Side, name: string): boolean {
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
  return unless(refusalOf(action, server), { status: 202 });
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

/** @returns the job that takes a new name to the region; null for a change that does not concern it */
export function applyUpdate(state: ModelState, server: ModelServer, changes: Changes): ModelJob | null {
  const { name = server.name, labels = {}, protection } = changes;
  server.labels = Object.fromEntries(
    Object.entries({ ...server.labels, ...labels }).flatMap(([key, value]) =>
      value === null ? [] : [[key, value] as const],
    ),
  );
  server.isProtected = protection?.delete ?? server.isProtected;
  server.isRebuildProtected = protection?.rebuild ?? server.isRebuildProtected;
  if (name !== server.name) {
    server.name = name;
    return operate(state, server, "ServerUpdate");
  }
  const isCurrent = server.observedGeneration === server.generation;
  server.generation += 1;
  if (isCurrent) server.observedGeneration = server.generation;
  return null;
}

function operate(state: ModelState, server: ModelServer, kind: ServerJobKind, order: Order = {}): ModelJob {
  server.reason = null;
  server.generation += 1;
  return state.addJob(server, kind, order);
}

const onTheWay = {
  start: "starting",
  shutdown: "stopping",
  stop: "stopping",
  reboot: "rebooting",
  reset: "rebooting",
} as const;

export type PowerRequest = {
  readonly action: PowerAction;
  readonly timeoutSeconds?: number;
  readonly force: boolean;
};

export function expectPower({ action, force }: PowerRequest, server: ModelServer, side: Side): Expected {
  const asksGuest = action === "shutdown" || action === "reboot";
  const expected = expectAction(action, server, side);
  return expected.status !== 404 && force && !asksGuest ? { status: 422 } : expected;
}

/** A stop supersedes what the guest was asked. */
export function applyPower(state: ModelState, server: ModelServer, wanted: PowerRequest): ModelJob {
  const [queued, running] = [openJob(server, "queued"), openJob(server, "running")];
  if (queued !== undefined) preemptQueuedJob(state, queued);
  if (running !== undefined) running.cancelRequested = true;
  server.status = onTheWay[wanted.action];
  return operate(state, server, "ServerPower", wanted);
}

export type ResizeRequest = {
  readonly slug: string;
  readonly growDisk: boolean;
  readonly allowRestart: boolean;
};

const diskAfter = (server: ModelServer, { slug, growDisk }: ResizeRequest): number =>
  growDisk ? Math.max(diskOf(server), packageOf(slug).diskGb) : diskOf(server);

export function expectResize(
  state: ModelState,
  server: ModelServer,
  side: Side,
  wish: ResizeRequest,
): Expected {
  const expected = expectAction("resize", server, side);
  if (expected.status !== 202) return expected;
  if (wish.slug === server.package && diskAfter(server, wish) === diskOf(server))
    return refused("invalid_state", "package_differs");
  const [has, comes] = [packageOf(server.package), packageOf(wish.slug)];
  if (wish.growDisk && comes.diskGb < diskOf(server)) return refused("disk_shrink_forbidden");
  const restarts = has.vcpu !== comes.vcpu || has.memoryMb !== comes.memoryMb;
  if (server.status === "running" && restarts && !wish.allowRestart) return refused("invalid_state");
  return fullFor(state, side, takenByResize(server, wish.slug, diskAfter(server, wish))) ?? expected;
}

export function applyResize(state: ModelState, server: ModelServer, wish: ResizeRequest): ModelJob {
  const { slug } = wish;
  const resize = { slug, diskGb: diskAfter(server, wish), run: server.status === "running" };
  server.status = "resizing";
  server.growsTo = resize;
  return operate(state, server, "ServerResize", { resize });
}

export function applyRebuild(
  state: ModelState,
  server: ModelServer,
  rebuild: { readonly image: string; readonly keys: readonly string[] },
): ModelJob {
  const wasInError = server.status === "error";
  passWaitingRules(state, server);
  server.status = "rebuilding";
  server.hasSecret = true;
  const job = operate(state, server, "ServerRebuild", { rebuild });
  // A disk that an earlier rebuild destroyed is gone until a rebuild has succeeded.
  job.isIrreversible = wasInError;
  return job;
}

export const passwordAction = (when: "now" | "next_boot"): ServerAction =>
  when === "now" ? "password_reset_now" : "password_reset";

export function applyPasswordReset(
  state: ModelState,
  server: ModelServer,
  when: "now" | "next_boot",
): ModelJob {
  server.hasSecret = true;
  return operate(state, server, "ServerPasswordReset", { when });
}

/** Marks it for removal: queued jobs are superseded, and running ones asked to end. */
export function applyDelete(state: ModelState, server: ModelServer): ModelJob {
  stopOthers(state, server);
  server.restoresTo = restoredState(server);
  server.status = "pending_deletion";
  server.purgeAt = state.now() + state.settings.removalBufferSeconds * 1000;
  const job = operate(state, server, "ServerStop");
  state.recordUsage(["server.purge_scheduled"], job);
  return job;
}

/** Without a removal buffer, or out of it before its time. */
export function applyPurge(state: ModelState, server: ModelServer): ModelJob {
  stopOthers(state, server);
  const isMarked = server.status === "pending_deletion";
  if (!isMarked) server.restoresTo = restoredState(server);
  server.status = "deleting";
  server.purgeAt = state.now();
  const job = operate(state, server, "ServerDestroy");
  if (!isMarked) state.recordUsage(["server.purge_scheduled"], job);
  return job;
}

function stopOthers(state: ModelState, server: ModelServer): void {
  const running = openJob(server, "running");
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(state, queued);
  if (running !== undefined && running.kind !== "ServerStop") running.cancelRequested = true;
}

function restoredState(server: ModelServer): "running" | "stopped" | "error" {
  if (!wasCreated(server)) return "error";
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

/** @returns the job that restores it, which is over at once when there is nothing to restore */
export function applyCancelDeletion(state: ModelState, server: ModelServer): ModelJob {
  const running = openJob(server, "running");
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(state, queued);
  if (running?.kind === "ServerStop") running.cancelRequested = true;
  const to = server.restoresTo ?? "error";
  server.purgeAt = null;
  if (to !== "error") {
    server.status = to === "running" ? "starting" : "stopped";
    return operate(state, server, "ServerRestore");
  }
  const isBeingCreated = running?.kind === "ServerCreate" || running?.kind === "ServerAdopt";
  server.status = isBeingCreated ? "creating" : "error";
  catchUp(state, server);
  const job = operate(state, server, "ServerRestore");
  server.reason = isBeingCreated ? null : "create_cancelled";
  Object.assign(job, { status: "succeeded", progress: 100, ends: 1 });
  return job;
}

/** The removal buffer ends: from here on the server cannot be restored. */
export function applyExpiry(state: ModelState, server: ModelServer): ModelJob {
  const queued = openJob(server, "queued");
  if (queued !== undefined) preemptQueuedJob(state, queued);
  server.status = "deleting";
  return operate(state, server, "ServerDestroy");
}
