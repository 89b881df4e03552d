/*
 * The API's promises, as plain objects. Nothing here is imported from the product: a model that used the
 * product's own rules would agree with whatever they decide.
 */

export type ServerJobKind =
  | "ServerCreate"
  | "ServerStop"
  | "ServerRestore"
  | "ServerDestroy"
  | "ServerPower"
  | "ServerResize"
  | "ServerRebuild"
  | "ServerPasswordReset"
  | "ServerUpdate"
  | "PublicIpAttach"
  | "PublicIpDetach";
export type Power = "on" | "off" | "unknown";
export type Steady = "running" | "stopped";
export type ServerStatus =
  | Steady
  | "creating"
  | "starting"
  | "stopping"
  | "rebooting"
  | "resizing"
  | "rebuilding"
  | "pending_deletion"
  | "deleting"
  | "error"
  | "deleted";

export type PowerAction = "start" | "shutdown" | "stop" | "reboot" | "reset";

export type ModelPackage = { readonly vcpu: number; readonly memoryMb: number; readonly diskGb: number };
/** The packages of servers; the larger ones are like these. */
export const PACKAGES: { readonly [slug: string]: ModelPackage } = {
  s: { vcpu: 1, memoryMb: 2048, diskGb: 40 },
  m: { vcpu: 2, memoryMb: 4096, diskGb: 80 },
  l: { vcpu: 4, memoryMb: 8192, diskGb: 160 },
};

export function packageOf(slug: string): ModelPackage {
  const found = PACKAGES[slug];
  if (found === undefined) throw new Error(`the model has no package ${slug}`);
  return found;
}

/** The parameters of a job, beyond its kind. */
export type Order = {
  readonly action?: PowerAction;
  readonly resize?: { readonly slug: string; readonly diskGb: number; readonly run: boolean };
  readonly rebuild?: { readonly image: string; readonly keys: readonly string[] };
};

export type ModelJob = {
  /** Null for a job that the API has written by itself, until the model has learnt its id. */
  id: string | null;
  readonly kind: ServerJobKind;
  readonly server: ModelServer;
  readonly order: Order;
  status: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  cancelRequested: boolean;
  /** It has begun what cannot be undone. */
  isIrreversible: boolean;
  /** For an address to leave another server: no agent gets the job before that. */
  waits: boolean;
  /** Since it was requested, or retried; a released claim does not count. */
  claims: number;
};

export type ModelServer = {
  readonly id: string;
  readonly side: Side;
  readonly subnet: ModelSubnet;
  /** In the order of their requests. */
  readonly jobs: ModelJob[];
  name: string;
  labels: Readonly<Record<string, string>>;
  status: ServerStatus;
  isProtected: boolean;
  isRebuildProtected: boolean;
  isLocked: boolean;
  /** Its VM was once there as wanted. */
  wasCreated: boolean;
  /** It starts as soon as it is created. */
  readonly starts: boolean;
  power: Power;
  restoresTo: Steady | "error" | null;
  package: string;
  diskGb: number;
  image: string;
  keys: readonly string[];
  /** What a resize under way uses in addition. */
  growsTo: { readonly slug: string; readonly diskGb: number } | null;
};

export type ModelSubnet = {
  readonly id: string;
  readonly network: ModelNetwork;
  readonly name: string;
  readonly tier: "app" | "data";
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

export type ModelKey = {
  readonly id: string;
  readonly side: Side;
  /** Which of the few key pairs there are. */
  readonly pair: number;
  name: string;
  isGone: boolean;
};
export type ModelMember = {
  readonly id: string;
  readonly side: Side;
  readonly email: string;
  role: string;
  isGone: boolean;
};

/** An address of a pool, allocated to one of the organisations. */
export type ModelAddress = {
  readonly address: string;
  readonly version: 4 | 6;
  readonly side: Side;
  state: "free" | "used" | "resting";
  /** When it was released, as a count; zero for one that was never used. */
  rested: number;
};

export type ModelIp = {
  readonly id: string;
  readonly side: Side;
  readonly address: ModelAddress;
  /** The server that should have it, and the one whose VM may have it. */
  wantedBy: ModelServer | null;
  heldBy: ModelServer | null;
  isApplied: boolean;
  needsReboot: boolean;
  /** Why it is not on its server; nothing changes until it is requested again. */
  reason: string | null;
  isProtected: boolean;
  goesWithServer: boolean;
  isGone: boolean;
};

/** One of the two organisations. */
export type Side = 0 | 1;

export type QuotaName =
  | "servers"
  | "vcpu"
  | "memory_mb"
  | "disk_gb"
  | "networks"
  | "subnets"
  | "ssh_keys"
  | "public_ips"
  | "firewalls"
  | "firewall_rules"
  | "gateways"
  | "members";
export type Amounts = { readonly [name in QuotaName]?: number };

export type ModelState = {
  readonly servers: ModelServer[];
  readonly networks: ModelNetwork[];
  readonly keys: ModelKey[];
  readonly members: ModelMember[];
  readonly addresses: readonly ModelAddress[];
  readonly ips: ModelIp[];
  /** Of each side; what is not there has no limit. */
  readonly limits: readonly [Map<QuotaName, number>, Map<QuotaName, number>];
  vmidsLeft: number;
  vlansLeft: number;
  /** How often an address was released. */
  rests: number;
};

/**
 * How much the region has. A VM number that was used rests for longer than any run. `addresses` are public ones for each
 * organisation, of each version.
 */
export type Room = { readonly vmids: number; readonly vlans: number; readonly addresses: number };

export function emptyState({ vmids, vlans }: Room, addresses: readonly ModelAddress[]): ModelState {
  return {
    servers: [],
    networks: [],
    keys: [],
    members: [],
    addresses,
    ips: [],
    limits: [new Map(), new Map()],
    vmidsLeft: vmids,
    vlansLeft: vlans,
    rests: 0,
  };
}

/**
 * The API's expected answer: a status, and for a conflict its code and, where there are several, the
 * preconditions.
 */
export type Expected = { readonly status: number; readonly code?: string; readonly precondition?: string };

export const refused = (code: string, precondition?: string): Expected =>
  precondition === undefined ? { status: 409, code } : { status: 409, code, precondition };
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

export function hasOpenJob(server: ModelServer): boolean {
  return server.jobs.some((job) => job.status === "queued" || job.status === "running");
}

export function addJob(
  server: ModelServer,
  id: string | null,
  kind: ServerJobKind,
  status: ModelJob["status"],
  order: Order = {},
): ModelJob {
  const job: ModelJob = {
    id,
    kind,
    server,
    order,
    status,
    cancelRequested: false,
    isIrreversible: false,
    waits: false,
    claims: 0,
  };
  server.jobs.push(job);
  return job;
}

/**
 * A queued job is superseded by another, or no longer wanted; what a resize was to use is free again, and a
 * rebuild whose last attempt has destroyed the disk leaves a server that cannot run.
 */
export function preemptQueuedJob(job: ModelJob): void {
  job.status = "cancelled";
  if (job.kind === "ServerResize") job.server.growsTo = null;
  if (job.kind === "ServerRebuild" && job.isIrreversible) job.server.power = "off";
}

export const isLeaving = (status: ServerStatus): boolean =>
  status === "pending_deletion" || status === "deleting";
