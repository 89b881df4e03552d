/*
 * What the API promises, as plain objects. Nothing here is imported from the product: a model that asked the product's
 * own rules would agree with whatever they say.
 */

export type JobKind = "ServerCreate" | "ServerStop" | "ServerRestore" | "ServerDestroy";
export type Power = "on" | "off" | "unknown";
type Steady = "running" | "stopped";
export type ServerStatus =
  | Steady
  | "creating"
  | "starting"
  | "pending_deletion"
  | "deleting"
  | "error"
  | "deleted";

export type ModelJob = {
  readonly id: string;
  readonly kind: JobKind;
  readonly server: ModelServer;
  status: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  cancelRequested: boolean;
  /** Since it was asked for, or asked for again; one that was handed back does not count. */
  claims: number;
};

export type ModelServer = {
  readonly id: string;
  readonly side: Side;
  readonly name: string;
  readonly subnet: ModelSubnet;
  /** In the order in which they were asked for. */
  readonly jobs: ModelJob[];
  status: ServerStatus;
  isProtected: boolean;
  /** Its VM was once there as wanted. */
  wasCreated: boolean;
  power: Power;
  restoresTo: Steady | "error" | null;
};

export type ModelSubnet = {
  readonly id: string;
  readonly network: ModelNetwork;
  readonly name: string;
  /** Which block of the network; null in a default network. */
  readonly slot: number | null;
  /** Addresses that were given out; a released one rests for longer than any run. */
  given: number;
  readonly capacity: number;
  isGone: boolean;
};

export type ModelNetwork = {
  readonly id: string;
  readonly side: Side;
  readonly name: string;
  readonly subnets: ModelSubnet[];
  isGone: boolean;
};

export type ModelKey = { readonly id: string; readonly side: Side; readonly name: string; isGone: boolean };
export type ModelMember = {
  readonly id: string;
  readonly side: Side;
  readonly email: string;
  role: string;
  isGone: boolean;
};

/** One of the two organisations. */
export type Side = 0 | 1;

export type ModelState = {
  readonly servers: ModelServer[];
  readonly networks: ModelNetwork[];
  readonly keys: ModelKey[];
  readonly members: ModelMember[];
  vmidsLeft: number;
  vlansLeft: number;
};

/** How much the region has. A VM number that was used rests for longer than any run. */
export type Room = { readonly vmids: number; readonly vlans: number };

export function emptyState({ vmids, vlans }: Room): ModelState {
  return { servers: [], networks: [], keys: [], members: [], vmidsLeft: vmids, vlansLeft: vlans };
}

/** What the API is to answer: a status, and for a conflict its code. */
export type Expected = { readonly status: number; readonly code?: string };

export const refused = (code: string): Expected => ({ status: 409, code });
export const absent: Expected = { status: 404 };

export function allJobs(state: ModelState): ModelJob[] {
  return state.servers.flatMap((server) => server.jobs);
}

export function allSubnets(state: ModelState): ModelSubnet[] {
  return state.networks.flatMap((network) => network.subnets);
}

export function liveNetworks(state: ModelState, side: Side): ModelNetwork[] {
  return state.networks.filter((network) => network.side === side && !network.isGone);
}

export function liveSubnets(state: ModelState, side: Side): ModelSubnet[] {
  return liveNetworks(state, side).flatMap((network) => network.subnets.filter((subnet) => !subnet.isGone));
}

export function openJob(server: ModelServer, status: "running" | "queued"): ModelJob | undefined {
  return server.jobs.find((job) => job.status === status);
}
