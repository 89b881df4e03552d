import type {
  JobStatus,
  ModelAddress,
  ModelFirewall,
  ModelIp,
  ModelJob,
  ModelKey,
  ModelMember,
  ModelNetwork,
  ModelServer,
  ModelSubnet,
  ModelUsage,
  ModelVmid,
  Order,
  QuotaName,
  ServerJobKind,
  ServerStatus,
  Side,
  UsageKind,
} from "./types.ts";

/** A job that is written by itself has no id that the model could know. */
export const UNNAMED = "";

/** For an address to leave another server: no agent gets the job before that. */
export const NOT_YET = Number.POSITIVE_INFINITY;

/** Of an installation that sets nothing else. */
export const MAX_ATTEMPTS = 8;

export type ModelSettings = {
  /** Milliseconds of the database's clock. */
  readonly now: () => number;
  readonly vmidRange: { readonly first: number; readonly last: number };
  readonly vlans: number;
  readonly removalBufferSeconds: number;
  readonly leaseSeconds: number;
  /** How often a job is tried before it fails. */
  readonly maxAttempts: number;
  readonly addresses: readonly ModelAddress[];
  readonly idOfJob: (number: number) => string;
};

/** What the control plane has written: the two organisations' resources, and what the region has given out. */
export class ModelState {
  readonly settings: ModelSettings;
  readonly servers: ModelServer[] = [];
  /** Of all servers. */
  readonly jobs: ModelJob[] = [];
  readonly networks: ModelNetwork[] = [];
  readonly keys: ModelKey[] = [];
  readonly members: ModelMember[] = [];
  readonly ips: ModelIp[] = [];
  readonly firewalls: ModelFirewall[] = [];
  readonly usage: ModelUsage[] = [];
  readonly vmids = new Map<number, ModelVmid>();
  /** Of each side; what is not there has no limit. */
  readonly limits: readonly [Map<QuotaName, number>, Map<QuotaName, number>] = [new Map(), new Map()];
  vlansLeft: number;
  /** How often an address was released. */
  rests = 0;
  #moments = 0;

  constructor(settings: ModelSettings) {
    this.settings = settings;
    this.vlansLeft = settings.vlans;
  }

  now(): number {
    return this.settings.now();
  }

  /** Now, and later than all that was written before: what one transaction writes has its order too. */
  moment(): number {
    this.#moments += 1;
    return this.now() + this.#moments * 1e-4;
  }

  server(id: string): ModelServer | undefined {
    return this.servers.find((server) => server.id === id);
  }

  job(id: string): ModelJob | undefined {
    return this.jobs.find((job) => job.id === id);
  }

  addJob(server: ModelServer, kind: ServerJobKind, order: Order = {}): ModelJob {
    const number = this.jobs.length + 1;
    const job: ModelJob = {
      id: this.settings.idOfJob(number),
      number,
      kind,
      server,
      order,
      status: "queued",
      attempt: 0,
      runAt: this.moment(),
      epoch: 0,
      leaseUntil: null,
      claimId: null,
      lastSeq: 0,
      phase: null,
      progress: 0,
      cancelRequested: false,
      isIrreversible: false,
      errorCode: null,
      lastSeen: null,
      steps: [],
      ends: 0,
      filterGiven: null,
    };
    this.jobs.push(job);
    server.jobs.push(job);
    return job;
  }

  /** VM numbers that were never used; one that was rests for longer than any run. */
  get vmidsLeft(): number {
    const { first, last } = this.settings.vmidRange;
    return last - first + 1 - this.vmids.size;
  }

  /** The lowest of them; null when there is none. */
  takeVmid(server: ModelServer): number | null {
    const { first, last } = this.settings.vmidRange;
    for (let vmid = first; vmid <= last; vmid++)
      if (!this.vmids.has(vmid)) {
        this.vmids.set(vmid, { state: "used", server });
        return vmid;
      }
    return null;
  }

  /** Another number, with the old one in quarantine; without a free one it keeps what it has. */
  replaceVmid(server: ModelServer): boolean {
    const former = this.vmidOf(server);
    const isReplaced = this.takeVmid(server) !== null;
    const old = former === null ? undefined : this.vmids.get(former);
    if (isReplaced && old !== undefined) old.state = "quarantined";
    return isReplaced;
  }

  vmidOf(server: ModelServer): number | null {
    for (const [number, vmid] of this.vmids)
      if (vmid.server === server && vmid.state === "used") return number;
    return null;
  }

  /** The server is gone: its number becomes a tombstone, and its address goes into quarantine. */
  release(server: ModelServer): void {
    server.host = null;
    for (const vmid of this.vmids.values())
      if (vmid.server === server && vmid.state === "used") vmid.state = "tombstone";
  }

  /** @throws Error when the claim has brought about the same already: the database's index would refuse it */
  recordUsage(kinds: readonly UsageKind[], job: ModelJob): void {
    const { epoch, server } = job;
    for (const kind of kinds) {
      const isSame = (each: ModelUsage) => each.job === job && each.epoch === epoch && each.kind === kind;
      if (this.usage.some(isSame)) throw new Error(`${job.kind} ${job.id} would bill ${kind} twice`);
      this.usage.push({ kind, server, job, epoch, package: server.package });
    }
  }

  /** What is counted of the server at present. */
  counted(server: ModelServer): { readonly run: boolean; readonly disk: boolean } {
    const last = (kinds: readonly UsageKind[]) =>
      this.usage.findLast((each) => each.server === server && kinds.includes(each.kind))?.kind;
    return {
      run: last(["server.started", "server.stopped"]) === "server.started",
      disk: last(["disk.allocated", "disk.released"]) === "disk.allocated",
    };
  }
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
  return server.jobs.some((job) => !isDone(job.status));
}

/** It has ended, and changes only by a request. */
export const isDone = (status: JobStatus): boolean => status !== "queued" && status !== "running";

/**
 * A round of its firewalls that waits, perhaps for long, gives way to what writes the VM's filter along with all
 * else that it does.
 */
export function hasOpenJobButRules(server: ModelServer): boolean {
  return server.jobs.some(
    (job) => job.status === "running" || (job.status === "queued" && job.kind !== "FirewallApply"),
  );
}

/** Ends a queued job: another one takes its place in the queue, or it is no longer wanted. */
export function cancelQueued(job: ModelJob, code: string): void {
  job.status = "cancelled";
  job.errorCode = code;
  job.ends += 1;
}

export const isLeaving = (status: ServerStatus): boolean =>
  status === "pending_deletion" || status === "deleting";

/** Its VM was once there as wanted. */
export const wasCreated = ({ observedGeneration }: ModelServer): boolean => observedGeneration > 0;

type ModelPackage = { readonly vcpu: number; readonly memoryMb: number; readonly diskGb: number };
/** The packages of servers; the larger ones are like these. */
const PACKAGES: { readonly [slug: string]: ModelPackage } = {
  s: { vcpu: 1, memoryMb: 2048, diskGb: 40 },
  m: { vcpu: 2, memoryMb: 4096, diskGb: 80 },
  l: { vcpu: 4, memoryMb: 8192, diskGb: 160 },
};

export function packageOf(slug: string): ModelPackage {
  const found = PACKAGES[slug];
  if (found === undefined) throw new Error(`the model has no package ${slug}`);
  return found;
}

/** Its disk's size: never smaller than what its package has had. */
export const diskOf = ({ diskGb, package: slug }: ModelServer): number => diskGb ?? packageOf(slug).diskGb;
