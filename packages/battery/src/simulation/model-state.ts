// The state of the control plane, as plain objects: the rows of its tables for jobs, leases and allocations.

import type { Schemas, ServerJobKind } from "@kule/contract/schemas";
import { type PackageSlug, packages, type ServerPackage } from "@kule/rules/catalog/packages";
import type { JobStatus } from "@kule/rules/jobs/actions";
import { defaultMaxAttempts } from "@kule/rules/jobs/retry";
import type { RestoresTo, ServerStatus } from "@kule/rules/servers/lifecycle";
import { macAddress } from "@kule/rules/servers/mac";
import type { PowerAction } from "@kule/rules/servers/power";
import type { PowerState, UsageKind } from "@kule/rules/servers/settle";

export type ModelServer = {
  readonly id: string;
  readonly organisationId: string;
  name: string;
  readonly startWhenCreated: boolean;
  image: string;
  package: PackageSlug;
  /** Null for what the package has. */
  diskGb: number | null;
  /** The additional quota of a resize until it ends. */
  resizes: { readonly package: PackageSlug; readonly diskGb: number } | null;
  deleteProtected: boolean;
  rebuildProtected: boolean;
  /** Of its private interface, when that is not the one of its VM number: that of an adopted VM. */
  mac: string | null;
  status: ServerStatus | "deleted";
  powerState: PowerState;
  reasonCode: string | null;
  restoresTo: RestoresTo | null;
  /** Milliseconds; null while it is not marked for removal. */
  purgeAt: number | null;
  generation: number;
  observedGeneration: number;
  hasSecret: boolean;
  /** The filter that its firewalls want, and the one that its VM has; '' is none. */
  readonly filter: { wanted: string; applied: string; failed: boolean };
};

export type ModelStep = {
  readonly epoch: number;
  readonly attempt: number;
  readonly phase: string;
  readonly name: string;
  status: Schemas["JobStep"]["status"];
};

/** Parameters that are stored nowhere else. */
export type JobParameters = {
  readonly action?: PowerAction;
  readonly timeout_seconds?: number;
  readonly force_after?: boolean;
  readonly package?: PackageSlug;
  readonly disk_gb?: number;
  readonly run?: boolean;
  readonly image?: string;
  readonly when?: "now" | "next_boot";
};

export type ModelJob = {
  readonly id: string;
  /** Jobs in the order of their making. */
  readonly number: number;
  readonly kind: ServerJobKind;
  readonly serverId: string;
  readonly parameters: JobParameters;
  status: JobStatus;
  attempt: number;
  readonly maxAttempts: number;
  runAt: number;
  epoch: number;
  leaseUntil: number | null;
  claimId: string | null;
  lastSeq: number;
  phase: Schemas["JobPhase"] | null;
  progress: number;
  irreversible: boolean;
  cancelRequested: boolean;
  errorCode: string | null;
  /** The observation of its last attempt, in case it never gets another one. */
  lastSeen: LastSeen | null;
  readonly steps: ModelStep[];
  /** Rows of the audit trail about its end. */
  ends: number;
  /** The filter that was in its payload at its last claim. */
  filterGiven: string | null;
};

export type LastSeen = { readonly power: PowerState | null; readonly diskBytes: number | null };

export type ModelVmid = { state: "used" | "tombstone" | "quarantined"; readonly serverId: string };
export type ModelAddress = { state: "used" | "quarantined"; serverId: string | null };
export type ModelUsage = {
  readonly serverId: string;
  readonly kind: UsageKind;
  readonly jobId: string;
  /** The claim of the job: tried again, it may have more to count. */
  readonly epoch: number;
  /** The size that is counted from then on. */
  readonly package: PackageSlug;
};

/** One that the organisation has taken; its number is its place in the model's list. */
export type ModelPublicIp = {
  readonly number: number;
  /** The server that should have it. */
  serverId: string | null;
  /** The server whose VM may have it. */
  heldBy: string | null;
  isApplied: boolean;
  requiresReboot: boolean;
  statusCode: string | null;
  generation: number;
};

/** Its number is its place in the model's list. */
export type ModelFirewall = {
  readonly number: number;
  /** The port that its one rule allows. */
  port: number;
  /** How many rules it has had in that place. */
  rule: number;
  readonly servers: Set<string>;
};

export type ModelSettings = {
  readonly leaseSeconds: number;
  readonly removalBufferSeconds: number;
  readonly vmidRange: { readonly first: number; readonly last: number };
  /** Servers that its one subnet has room for. */
  readonly addresses: number;
  /** All IPv4, of one pool. */
  readonly publicIps: number;
  readonly firewalls: number;
  /** The rules' when left out. */
  readonly maxAttempts?: number;
};

/** The port that a firewall allows at first; the next firewall allows the next one. */
export const FIRST_PORT = 8_001;
const ORGANISATION = "org_00000000000000000000000001";
export class ModelState {
  readonly settings: ModelSettings;
  /** Milliseconds of the database's clock. */
  readonly now: () => number;
  readonly servers = new Map<string, ModelServer>();
  readonly jobs: ModelJob[] = [];
  readonly vmids = new Map<number, ModelVmid>();
  readonly addresses = new Map<number, ModelAddress>();
  readonly usage: ModelUsage[] = [];
  readonly publicIps: readonly ModelPublicIp[];
  readonly firewalls: readonly ModelFirewall[];
  #moments = 0;

  constructor(settings: ModelSettings, now: () => number) {
    this.settings = settings;
    this.now = now;
    this.publicIps = Array.from({ length: settings.publicIps }, (_, index) => ({
      number: index + 1,
      serverId: null,
      heldBy: null,
      isApplied: false,
      requiresReboot: false,
      statusCode: null,
      generation: 1,
    }));
    this.firewalls = Array.from({ length: settings.firewalls }, (_, index) => ({
      number: index + 1,
      port: FIRST_PORT + index,
      rule: 1,
      servers: new Set<string>(),
    }));
  }

  /** Now, and later than all that was written before: what one transaction writes has its order too. */
  moment(): number {
    this.#moments += 1;
    return this.now() + this.#moments * 1e-4;
  }

  addServer(name: string, start: boolean): ModelServer {
    const id = `srv_${String(this.servers.size + 1).padStart(26, "0")}`;
    const server: ModelServer = {
      id,
      organisationId: ORGANISATION,
      name,
      startWhenCreated: start,
      image: "ubuntu-24.04",
      package: "s",
      diskGb: null,
      resizes: null,
      deleteProtected: false,
      rebuildProtected: false,
      mac: null,
      status: "creating",
      powerState: "unknown",
      reasonCode: null,
      restoresTo: null,
      purgeAt: null,
      generation: 1,
      observedGeneration: 0,
      hasSecret: true,
      filter: { wanted: "", applied: "", failed: false },
    };
    this.servers.set(id, server);
    return server;
  }

  addJob(kind: ServerJobKind, serverId: string, parameters: JobParameters = {}): ModelJob {
    const number = this.jobs.length + 1;
    const job: ModelJob = {
      id: `job_${String(number).padStart(26, "0")}`,
      number,
      kind,
      serverId,
      parameters,
      status: "queued",
      attempt: 0,
      maxAttempts: this.settings.maxAttempts ?? defaultMaxAttempts,
      runAt: this.moment(),
      epoch: 0,
      leaseUntil: null,
      claimId: null,
      lastSeq: 0,
      phase: null,
      progress: 0,
      irreversible: false,
      cancelRequested: false,
      errorCode: null,
      lastSeen: null,
      steps: [],
      ends: 0,
      filterGiven: null,
    };
    this.jobs.push(job);
    return job;
  }

  job(id: string): ModelJob | undefined {
    return this.jobs.find((job) => job.id === id);
  }

  serverOf(job: ModelJob): ModelServer {
    const server = this.servers.get(job.serverId);
    if (server === undefined) throw new Error(`job ${job.id} has no server`);
    return server;
  }

  openJobs(serverId: string): { running: ModelJob | null; queued: ModelJob | null } {
    const of = (status: JobStatus) =>
      this.jobs.find((job) => job.serverId === serverId && job.status === status) ?? null;
    return { running: of("running"), queued: of("queued") };
  }

  /** The lowest free number; null when there is none. */
  takeVmid(serverId: string): number | null {
    const { first, last } = this.settings.vmidRange;
    for (let vmid = first; vmid <= last; vmid++)
      if (!this.vmids.has(vmid)) {
        this.vmids.set(vmid, { state: "used", serverId });
        return vmid;
      }
    return null;
  }

  retireVmid(serverId: string, as: "tombstone" | "quarantined"): void {
    for (const vmid of this.vmids.values())
      if (vmid.serverId === serverId && vmid.state === "used") vmid.state = as;
  }

  /** A number that a foreign VM has, for a server that is to adopt it. */
  takeThisVmid(vmid: number, serverId: string): boolean {
    const { first, last } = this.settings.vmidRange;
    const state = this.vmids.get(vmid)?.state ?? "free";
    if (vmid < first || vmid > last || (state !== "free" && state !== "quarantined")) return false;
    this.vmids.set(vmid, { state: "used", serverId });
    return true;
  }

  /** Another number, with the old one in quarantine; without a free one it keeps what it has. */
  replaceVmid(serverId: string): boolean {
    const former = this.vmidOf(serverId);
    const vmid = this.takeVmid(serverId);
    const old = former === null ? undefined : this.vmids.get(former);
    if (vmid !== null && old !== undefined) old.state = "quarantined";
    return vmid !== null;
  }

  vmidOf(serverId: string): number | null {
    for (const [number, vmid] of this.vmids)
      if (vmid.serverId === serverId && vmid.state === "used") return number;
    return null;
  }

  takeAddress(serverId: string): number | null {
    for (let host = 1; host <= this.settings.addresses; host++)
      if (!this.addresses.has(host)) {
        this.addresses.set(host, { state: "used", serverId });
        return host;
      }
    return null;
  }

  releaseAddresses(serverId: string): void {
    for (const address of this.addresses.values())
      if (address.serverId === serverId) {
        address.state = "quarantined";
        address.serverId = null;
      }
  }

  addressOf(serverId: string): number | null {
    for (const [host, address] of this.addresses) if (address.serverId === serverId) return host;
    return null;
  }

  /** @throws Error when the claim has brought about the same already: the database's index would refuse it */
  recordUsage(kinds: readonly UsageKind[], serverId: string, jobId: string): void {
    const epoch = this.job(jobId)?.epoch ?? 0;
    for (const kind of kinds) {
      const isSame = (each: ModelUsage) =>
        each.jobId === jobId && each.epoch === epoch && each.serverId === serverId && each.kind === kind;
      if (this.usage.some(isSame)) throw new Error(`${jobId} would bill ${kind} twice`);
      const slug = this.servers.get(serverId)?.package ?? "s";
      this.usage.push({ kind, serverId, jobId, epoch, package: slug });
    }
  }

  openUsage(serverId: string): { runIsCounted: boolean; diskIsCounted: boolean } {
    const last = (kinds: readonly UsageKind[]) =>
      this.usage.findLast((each) => each.serverId === serverId && kinds.includes(each.kind))?.kind;
    return {
      runIsCounted: last(["server.started", "server.stopped"]) === "server.started",
      diskIsCounted: last(["disk.allocated", "disk.released"]) === "disk.allocated",
    };
  }

  /** Of the private interface. */
  macOf(server: ModelServer, vmid: number): string {
    return server.mac ?? macAddress(1, vmid, 0);
  }
}

export function planOf(slug: PackageSlug): ServerPackage {
  const plan = packages.find((each) => each.slug === slug);
  if (plan === undefined) throw new Error(`no package ${slug}`);
  return plan;
}

/** Its disk's size: never smaller than what its package has had. */
export function diskOf({ diskGb, package: slug }: Pick<ModelServer, "diskGb" | "package">): number {
  return diskGb ?? planOf(slug).diskGb;
}
