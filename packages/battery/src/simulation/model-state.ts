// What the control plane knows, as plain objects: the rows of its tables that jobs, leases and allocations are about.

import type { JobKind, Schemas } from "@kule/contract/schemas";
import type { JobStatus } from "@kule/rules/jobs/actions";
import { defaultMaxAttempts } from "@kule/rules/jobs/retry";
import type { RestoresTo, ServerStatus } from "@kule/rules/servers/lifecycle";
import { macAddress } from "@kule/rules/servers/mac";
import type { PowerState, UsageKind } from "@kule/rules/servers/settle";

export type ModelServer = {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string;
  readonly startWhenCreated: boolean;
  status: ServerStatus | "deleted";
  powerState: PowerState;
  reasonCode: string | null;
  restoresTo: RestoresTo | null;
  /** Milliseconds; null while it is not marked for removal. */
  purgeAt: number | null;
  generation: number;
  observedGeneration: number;
  hasSecret: boolean;
};

export type ModelStep = {
  readonly epoch: number;
  readonly attempt: number;
  readonly phase: string;
  readonly name: string;
  status: Schemas["JobStep"]["status"];
};

export type ModelJob = {
  readonly id: string;
  /** Jobs in the order of their making. */
  readonly number: number;
  readonly kind: JobKind;
  readonly serverId: string;
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
  readonly steps: ModelStep[];
  /** Rows of the audit trail about its end. */
  ends: number;
};

export type ModelVmid = { state: "used" | "tombstone" | "quarantined"; readonly serverId: string };
export type ModelAddress = { state: "used" | "quarantined"; serverId: string | null };
export type ModelUsage = { readonly serverId: string; readonly kind: UsageKind; readonly jobId: string };

export type ModelSettings = {
  readonly leaseSeconds: number;
  readonly removalBufferSeconds: number;
  readonly vmidRange: { readonly first: number; readonly last: number };
  /** Servers that its one subnet has room for. */
  readonly addresses: number;
  /** The rules' when left out. */
  readonly maxAttempts?: number;
};

const ORGANISATION = "org_00000000000000000000000001";
const VLAN = 120;

export class ModelState {
  readonly settings: ModelSettings;
  /** Milliseconds of the database's clock. */
  readonly now: () => number;
  readonly servers = new Map<string, ModelServer>();
  readonly jobs: ModelJob[] = [];
  readonly vmids = new Map<number, ModelVmid>();
  readonly addresses = new Map<number, ModelAddress>();
  readonly usage: ModelUsage[] = [];

  constructor(settings: ModelSettings, now: () => number) {
    this.settings = settings;
    this.now = now;
  }

  addServer(name: string, start: boolean): ModelServer {
    const id = `srv_${String(this.servers.size + 1).padStart(26, "0")}`;
    const server: ModelServer = {
      id,
      organisationId: ORGANISATION,
      name,
      startWhenCreated: start,
      status: "creating",
      powerState: "unknown",
      reasonCode: null,
      restoresTo: null,
      purgeAt: null,
      generation: 1,
      observedGeneration: 0,
      hasSecret: true,
    };
    this.servers.set(id, server);
    return server;
  }

  addJob(kind: JobKind, serverId: string): ModelJob {
    const number = this.jobs.length + 1;
    const job: ModelJob = {
      id: `job_${String(number).padStart(26, "0")}`,
      number,
      kind,
      serverId,
      status: "queued",
      attempt: 0,
      maxAttempts: this.settings.maxAttempts ?? defaultMaxAttempts,
      runAt: this.now(),
      epoch: 0,
      leaseUntil: null,
      claimId: null,
      lastSeq: 0,
      phase: null,
      progress: 0,
      irreversible: false,
      cancelRequested: false,
      errorCode: null,
      steps: [],
      ends: 0,
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

  restVmid(serverId: string, as: "tombstone" | "quarantined"): void {
    for (const vmid of this.vmids.values())
      if (vmid.serverId === serverId && vmid.state === "used") vmid.state = as;
  }

  /** Another number, and the one it had into quarantine; without another one left it keeps what it has. */
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

  /** @throws Error when the job has brought about the same already: the database's index would refuse it */
  recordUsage(kinds: readonly UsageKind[], serverId: string, jobId: string): void {
    for (const kind of kinds) {
      if (this.usage.some((each) => each.jobId === jobId && each.serverId === serverId && each.kind === kind))
        throw new Error(`${jobId} would bill ${kind} twice`);
      this.usage.push({ kind, serverId, jobId });
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

  /** What goes to the agent, from what is wanted now. */
  payloadOf(job: ModelJob): Schemas["JobPayload"] {
    const server = this.serverOf(job);
    const vmid = this.vmidOf(server.id);
    if (vmid === null) throw new Error(`${server.id} has no VM number`);
    const { id, organisationId, name } = server;
    const base = { server: { id, organisation_id: organisationId, name }, vmid };
    if (job.kind === "ServerRestore")
      return { kind: "ServerRestore", ...base, start: server.restoresTo === "running" };
    if (job.kind === "ServerStop" || job.kind === "ServerDestroy") return { kind: job.kind, ...base };
    if (job.kind !== "ServerCreate") throw new Error(`the model makes no ${job.kind}`);
    const host = this.addressOf(id);
    if (host === null) throw new Error(`${id} has no address`);
    return {
      kind: "ServerCreate",
      ...base,
      pool: `kule-${organisationId}`,
      tags: ["kule", organisationId, id],
      template: "ubuntu-24.04",
      os_family: "linux",
      default_user: "ubuntu",
      package: { vcpu: 1, memory_mb: 2048, disk_gb: 10 } as Schemas["PayloadPackage"],
      interfaces: [
        {
          id: `nic_${id.slice(4)}`,
          mac: macAddress(1, vmid, 0),
          vlan: VLAN,
          address: `10.20.0.${host}`,
          prefix_length: 24,
          gateway: "10.20.0.254",
          dns_servers: ["9.9.9.9"],
          search_domain: "acme.internal",
        },
      ],
      ssh_public_keys: [],
      password_hash: "$6$rounds=5000$abcdefgh$0123456789abcdef",
      sealed_password: null,
      start: server.startWhenCreated,
      egress: false,
    };
  }
}
