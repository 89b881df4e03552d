import {
  absent,
  type Expected,
  liveNetworks,
  liveSubnets,
  type ModelJob,
  type ModelServer,
  type ModelState,
  type ModelSubnet,
  openJob,
  refused,
  type ServerStatus,
  type Side,
} from "./model-state.ts";

/** Where a new server is to go: the subnet that is named, or the one that the API has to find. */
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

export function expectCreate(state: ModelState, side: Side, name: string, place: Place): Expected {
  if (place.kind === "nowhere") return { status: 422 };
  const isTaken = state.servers.some(
    (server) => server.side === side && server.name === name && server.status !== "deleted",
  );
  if (isTaken) return refused("name_taken");
  if (place.kind === "new default network" && state.vlansLeft === 0) return refused("vlan_exhausted");
  if (state.vmidsLeft === 0) return refused("vmid_exhausted");
  if (place.kind === "subnet" && place.subnet.given >= place.subnet.capacity)
    return refused("subnet_exhausted");
  return { status: 202 };
}

const isLeaving = (status: ServerStatus) => status === "pending_deletion" || status === "deleting";

/** Another organisation's server is as absent as one that was destroyed. */
function isAbsent(server: ModelServer, side: Side): boolean {
  return server.side !== side || server.status === "deleted";
}

export function expectUpdate(server: ModelServer, side: Side): Expected {
  if (isAbsent(server, side)) return absent;
  return isLeaving(server.status) ? refused("resource_deleting") : { status: 200 };
}

export function expectDelete(server: ModelServer, side: Side): Expected {
  if (isAbsent(server, side)) return absent;
  if (isLeaving(server.status)) return refused("resource_deleting");
  return server.isProtected ? refused("protected") : { status: 202 };
}

export function applyDelete(server: ModelServer): void {
  const running = openJob(server, "running");
  const queued = openJob(server, "queued");
  if (queued !== undefined) queued.status = "cancelled";
  if (running !== undefined && running.kind !== "ServerStop") running.cancelRequested = true;
  server.restoresTo = restoredState(server);
  server.status = "pending_deletion";
}

function restoredState(server: ModelServer): "running" | "stopped" | "error" {
  if (!server.wasCreated) return "error";
  if (server.status === "running" || server.status === "starting") return "running";
  if (server.status === "stopped") return "stopped";
  return server.power === "on" ? "running" : "stopped";
}

export function expectCancelDeletion(server: ModelServer, side: Side): Expected {
  if (isAbsent(server, side)) return absent;
  if (server.status === "pending_deletion") return { status: 202 };
  return refused(server.status === "deleting" ? "resource_deleting" : "invalid_state");
}

/** @returns whether the job that restores it is over at once, because there is nothing to restore */
export function applyCancelDeletion(server: ModelServer): boolean {
  const running = openJob(server, "running");
  const queued = openJob(server, "queued");
  if (queued !== undefined) queued.status = "cancelled";
  if (running?.kind === "ServerStop") running.cancelRequested = true;
  const to = server.restoresTo ?? "error";
  if (to === "error") server.status = running?.kind === "ServerCreate" ? "creating" : "error";
  else server.status = to === "running" ? "starting" : "stopped";
  return to === "error";
}

export function expectCancelJob(job: ModelJob, side: Side): Expected {
  if (job.server.side !== side) return absent;
  return isCancellable(job) ? { status: 202 } : refused("invalid_state");
}

export function isCancellable(job: ModelJob): boolean {
  return job.kind === "ServerCreate" && (job.status === "queued" || job.status === "running");
}

export function applyCancelJob(job: ModelJob): void {
  if (job.status === "running") job.cancelRequested = true;
  else {
    job.status = "cancelled";
    settle(job, null);
  }
}

export function expectRetry(job: ModelJob, side: Side): Expected {
  if (job.server.side !== side) return absent;
  return isRetryable(job) ? { status: 202 } : refused("invalid_state");
}

export function isRetryable(job: ModelJob): boolean {
  if (job.status !== "failed" && job.status !== "cancelled") return false;
  const { server, kind } = job;
  if (openJob(server, "running") !== undefined || openJob(server, "queued") !== undefined) return false;
  if (server.jobs.findLast((each) => each.kind === kind) !== job) return false;
  switch (kind) {
    case "ServerCreate":
      return server.status === "error" && !server.wasCreated;
    case "ServerRestore":
      return server.status === "error" && server.wasCreated;
    case "ServerStop":
      return server.status === "pending_deletion";
    case "ServerDestroy":
      return server.status === "deleting";
  }
}

/** A job that was held too long this often is failed by the next who holds it too long; the model stays below. */
export const LONGEST_HELD = 5;

export function applyRetry(job: ModelJob): void {
  job.status = "queued";
  job.claims = 0;
  job.cancelRequested = false;
  const { server } = job;
  if (job.kind === "ServerCreate") server.status = "creating";
  if (job.kind === "ServerRestore") server.status = server.restoresTo === "running" ? "starting" : "stopped";
}

/** Jobs that the region's agent may be given: one at a time for each server. */
export function claimable(state: ModelState): ModelJob[] {
  return state.servers.flatMap((server) => {
    const queued = openJob(server, "queued");
    return queued === undefined || openJob(server, "running") !== undefined ? [] : [queued];
  });
}

/** The agent gives the job back: it waits again, unless nobody wants it any more. */
export function applyRelease(job: ModelJob): void {
  const isWanted = !job.cancelRequested && openJob(job.server, "queued") === undefined;
  job.status = isWanted ? "queued" : "cancelled";
  job.claims -= 1;
  if (!isWanted) settle(job, null);
}

export function applyEnd(
  job: ModelJob,
  status: "succeeded" | "failed" | "cancelled",
  power: "on" | "off" | null,
): void {
  // What nobody asked to stop has not been cancelled.
  job.status = status === "cancelled" && !job.cancelRequested ? "failed" : status;
  settle(job, power);
}

function settle(job: ModelJob, power: "on" | "off" | null): void {
  const { server } = job;
  const succeeded = job.status === "succeeded";
  switch (job.kind) {
    case "ServerCreate":
    case "ServerRestore":
      if (succeeded) present(job, power ?? "on");
      else if (job.kind === "ServerCreate" ? server.status === "creating" : !isLeaving(server.status))
        server.status = "error";
      return;
    case "ServerStop":
      if (succeeded) server.power = "off";
      return;
    case "ServerDestroy":
      if (succeeded) server.status = "deleted";
  }
}

function present({ server, kind }: ModelJob, power: "on" | "off"): void {
  const steady = power === "on" ? "running" : "stopped";
  server.power = power;
  server.wasCreated = true;
  if (server.status === "pending_deletion") server.restoresTo = steady;
  else if (kind === "ServerRestore") server.restoresTo = null;
  if (!isLeaving(server.status)) server.status = steady;
}

/** The removal buffer ends: from here on the server cannot be taken back. */
export function applyExpiry(server: ModelServer): void {
  const queued = openJob(server, "queued");
  if (queued !== undefined) queued.status = "cancelled";
  server.status = "deleting";
}
