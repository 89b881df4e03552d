/*
 * The rows of the control plane's tables, as plain objects. Nothing in this folder is imported from the product:
 * a model that used the product's own rules would agree with whatever they decide.
 */

export type ServerJobKind =
  | "ServerCreate"
  | "ServerAdopt"
  | "ServerStop"
  | "ServerRestore"
  | "ServerDestroy"
  | "ServerPower"
  | "ServerResize"
  | "ServerRebuild"
  | "ServerPasswordReset"
  | "ServerUpdate"
  | "PublicIpAttach"
  | "PublicIpDetach"
  | "FirewallApply";
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

/** One of the organisations. */
export type Side = 0 | 1;

/** The parameters of a job, beyond its kind. */
export type Order = {
  readonly action?: PowerAction;
  readonly timeoutSeconds?: number;
  readonly force?: boolean;
  readonly resize?: { readonly slug: string; readonly diskGb: number; readonly run: boolean };
  readonly rebuild?: { readonly image: string; readonly keys: readonly string[] };
  readonly when?: "now" | "next_boot";
};

export type JobStatus = "queued" | "running" | "succeeded" | "failed" | "cancelled";
export type FinalStatus = "succeeded" | "failed" | "cancelled";
export type Phase = "observe" | "plan" | "apply" | "verify";

export type ModelStep = {
  readonly epoch: number;
  readonly attempt: number;
  readonly phase: Phase;
  readonly name: string;
  status: "running" | "succeeded" | "skipped" | "failed";
};

export type ModelJob = {
  /** Empty for a job that the API has written by itself, until the model has learnt its id. */
  id: string;
  /** Jobs in the order of their making. */
  readonly number: number;
  readonly kind: ServerJobKind;
  readonly server: ModelServer;
  readonly order: Order;
  status: JobStatus;
  /** Since it was requested, or retried; a released claim does not count. */
  attempt: number;
  /** No agent gets it before; never, while an address has to leave another server. */
  runAt: number;
  epoch: number;
  leaseUntil: number | null;
  claimId: string | null;
  lastSeq: number;
  phase: Phase | null;
  progress: number;
  cancelRequested: boolean;
  /** It has begun what cannot be undone. */
  isIrreversible: boolean;
  errorCode: string | null;
  /** The observation of its last attempt, in case it never gets another one. */
  lastSeen: { readonly power: Power | null; readonly diskBytes: number | null } | null;
  readonly steps: ModelStep[];
  /** Rows of the audit trail about its end. */
  ends: number;
  /** The filter that was in its payload at its last claim. */
  filterGiven: string | null;
};

export type ModelServer = {
  readonly id: string;
  readonly side: Side;
  readonly subnet: ModelSubnet;
  /** Its address in the subnet, as a count; null once it is released. */
  host: number | null;
  /** Of its private interface, when that is not the one of its VM number: that of an adopted VM. */
  mac: string | null;
  /** In the order of their requests. */
  readonly jobs: ModelJob[];
  name: string;
  labels: Readonly<Record<string, string>>;
  status: ServerStatus;
  /** Why it is in that status. */
  reason: string | null;
  isProtected: boolean;
  isRebuildProtected: boolean;
  isLocked: boolean;
  /** It starts as soon as it is created. */
  readonly starts: boolean;
  power: Power;
  restoresTo: Steady | "error" | null;
  /** Milliseconds; null while it is not marked for removal. */
  purgeAt: number | null;
  package: string;
  /** Null for what the package has. */
  diskGb: number | null;
  image: string;
  keys: readonly string[];
  hasSecret: boolean;
  /** What a resize under way uses in addition. */
  growsTo: { readonly slug: string; readonly diskGb: number } | null;
  generation: number;
  /** The generation that the region has confirmed; zero before its VM was once there as wanted. */
  observedGeneration: number;
  /** The filter that its firewalls want, and the one that its VM has; '' is none. */
  readonly filter: { wanted: string; applied: string; failed: boolean };
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
  /** Addresses in the order in which they were taken. */
  readonly number: number;
  readonly side: Side;
  readonly address: ModelAddress;
  /** The server that should have it, and the one whose VM may have it. */
  wantedBy: ModelServer | null;
  heldBy: ModelServer | null;
  isApplied: boolean;
  needsReboot: boolean;
  /** Why it is not on its server; nothing changes until it is requested again. */
  reason: string | null;
  generation: number;
  isProtected: boolean;
  goesWithServer: boolean;
  isGone: boolean;
};

/** A firewall of one rule, which is attached to servers by name. */
export type ModelFirewall = {
  readonly number: number;
  readonly side: Side;
  /** The port that its one rule allows. */
  port: number;
  /** How many rules it has had in that place. */
  rule: number;
  readonly servers: Set<ModelServer>;
};

export type ModelVmid = { state: "used" | "tombstone" | "quarantined"; readonly server: ModelServer };

export type UsageKind =
  | "server.started"
  | "server.stopped"
  | "server.resized"
  | "server.purge_scheduled"
  | "server.purged"
  | "disk.allocated"
  | "disk.released";
export type ModelUsage = {
  readonly server: ModelServer;
  readonly kind: UsageKind;
  readonly job: ModelJob;
  /** The claim of the job: tried again, it may have more to count. */
  readonly epoch: number;
  /** The size that is counted from then on. */
  readonly package: string;
};

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
  | "domains"
  | "certificates"
  | "load_balancers"
  | "members";
export type Amounts = { readonly [name in QuotaName]?: number };
