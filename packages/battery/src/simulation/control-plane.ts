// The control plane that the agents of a seed talk to: the reference model, with claims and reports as apps/api and its
// SQL answer them. conformance.ts calls both in the same way and compares every answer.

import type { Schemas } from "@kule/contract/schemas";
import { advance, beginAttempt, endAttempt } from "../reference-model/attempts.ts";
import { nothingSeen } from "../reference-model/endings.ts";
import { MAX_ATTEMPTS, ModelState, NOT_YET, openJob } from "../reference-model/model-state.ts";
import { applyTake } from "../reference-model/public-ips.ts";
import { applyExpiry } from "../reference-model/server-requests.ts";
import type { ModelAddress, ModelJob, ModelNetwork, ModelSubnet } from "../reference-model/types.ts";
import { addressOfIp, type Filter, payloadOf } from "./payloads.ts";

export type ControlPlaneSettings = {
  readonly leaseSeconds: number;
  readonly removalBufferSeconds: number;
  readonly vmidRange: { readonly first: number; readonly last: number };
  /** Servers that its one subnet has room for. */
  readonly addresses: number;
  /** All IPv4, of one pool, and taken. */
  readonly publicIps: number;
  readonly firewalls: number;
  readonly maxAttempts?: number;
};

/** An answer of the API: its status, and what the caller does something about. */
export type ModelAnswer<Body> =
  | { readonly status: number; readonly body: Body }
  | { readonly status: number; readonly code: string };

/** The port that a firewall allows at first; the next firewall allows the next one. */
export const FIRST_PORT = 8_001;

export class ControlPlaneModel {
  readonly state: ModelState;
  /** Where all servers are. */
  readonly subnet: ModelSubnet;
  readonly #random: () => number;
  /** Called when a waiting claim may find something now. */
  onNews: () => void = () => {};

  constructor(settings: ControlPlaneSettings, now: () => number, random: () => number) {
    this.#random = random;
    const addresses = Array.from(
      { length: settings.publicIps },
      (_, index): ModelAddress => ({
        address: addressOfIp(index + 1),
        version: 4,
        side: 0,
        state: "free",
        rested: 0,
      }),
    );
    const { leaseSeconds, removalBufferSeconds, vmidRange, maxAttempts = MAX_ATTEMPTS } = settings;
    this.state = new ModelState({
      now,
      leaseSeconds,
      removalBufferSeconds,
      vmidRange,
      maxAttempts,
      addresses,
      vlans: 0,
      idOfJob: (number) => `job_${String(number).padStart(26, "0")}`,
    });
    const network: ModelNetwork = { id: "net_1", side: 0, name: "default", subnets: [], isGone: false };
    const capacity = settings.addresses;
    const place = { id: "sub_1", network, name: "app", tier: "app", slot: null } as const;
    this.subnet = { ...place, given: 0, capacity, isGone: false };
    network.subnets.push(this.subnet);
    this.state.networks.push(network);
    for (const [index, address] of addresses.entries())
      applyTake(this.state, 0, address, `pip_${String(index + 1).padStart(26, "0")}`);
    for (let number = 1; number <= settings.firewalls; number++)
      this.state.firewalls.push({
        number,
        side: 0,
        port: FIRST_PORT + number - 1,
        rule: 1,
        servers: new Set(),
      });
  }

  /** One search: the next job, or null. */
  claim(body: Schemas["ClaimRequest"]): Schemas["ClaimedJob"]["job"] | null {
    const { state } = this;
    const now = state.now();
    const same = state.jobs.find((job) => job.claimId === body.claim_id && job.status === "running");
    if (same !== undefined && (same.leaseUntil ?? 0) > now) return this.#claimed(same);
    if (same !== undefined && this.#isWornOut(same)) return null;
    const job = same ?? this.#expired(body.capabilities, now) ?? this.#waiting(body.capabilities, now);
    if (job === null) return null;
    beginAttempt(state, job, body.claim_id);
    return this.#claimed(job);
  }

  /** When a claim may find something without a notification; null when never. */
  nextDue(): number | null {
    let due: number | null = null;
    for (const job of this.state.jobs) {
      const at = job.status === "queued" ? job.runAt : job.status === "running" ? job.leaseUntil : null;
      if (at !== null && at !== NOT_YET && (due === null || at < due)) due = at;
    }
    return due;
  }

  report(jobId: string, report: Schemas["StepReport"]): ModelAnswer<Schemas["StepAck"]> {
    const { state } = this;
    const job = state.job(jobId);
    if (job === undefined) return { status: 404, code: "not_found" };
    const stale = { status: 409, code: "stale_lease" };
    if (job.epoch !== report.epoch) return stale;
    const isLeased = job.status === "running" && (job.leaseUntil ?? 0) > state.now();
    if (report.seq <= job.lastSeq)
      return isLeased || report.outcome !== undefined ? acknowledged(job) : stale;
    if (!isLeased) return stale;
    job.lastSeq = report.seq;
    job.phase = report.phase ?? job.phase;
    const isAboutPhase = report.phase !== undefined || report.step !== undefined;
    advance(job, isAboutPhase ? job.phase : null, report.progress ?? null);
    job.isIrreversible ||= report.irreversible === true;
    job.leaseUntil = state.now() + state.settings.leaseSeconds * 1000;
    for (const { phase, ...step } of report.earlier_steps ?? []) writeStep(job, step, phase);
    if (report.step !== undefined) writeStep(job, report.step, job.phase ?? "observe");
    if (report.outcome !== undefined) {
      const { status, error, observed } = report.outcome;
      const { macs = [] } = (observed ?? {}) as { readonly macs?: readonly (string | null)[] };
      const outcome = {
        status,
        errorCode: error?.code ?? null,
        power: observed?.power_state ?? null,
        vmidUnusable: observed?.vmid_unusable ?? null,
        publicNetwork: observed?.public_network ?? null,
        macs,
        diskBytes: observed?.disk_bytes ?? null,
        filter: observed?.filter ?? null,
      };
      endAttempt(state, job, outcome, this.#random);
      this.onNews();
    }
    return acknowledged(job);
  }

  // --- What the worker does by itself. ---

  /** Ends the server's time in the removal buffer, if it is over. True if it is being deleted because of this. */
  expireBuffer(serverId: string): boolean {
    const server = this.state.server(serverId);
    if (server?.status !== "pending_deletion") return false;
    if (server.purgeAt === null || server.purgeAt > this.state.now()) return false;
    applyExpiry(this.state, server);
    this.onNews();
    return true;
  }

  /** Releases the jobs whose lease expired and that no agent took over. */
  expireLeases(): number {
    const { state } = this;
    const now = state.now();
    const expired = state.jobs.filter((job) => job.status === "running" && (job.leaseUntil ?? now) < now);
    for (const job of expired) {
      const outcome = { status: "retry", errorCode: "lease_expired", vmidUnusable: null } as const;
      endAttempt(state, job, { ...nothingSeen, ...outcome }, this.#random);
      this.onNews();
    }
    return expired.length;
  }

  // --- In here. ---

  #isWornOut({ attempt }: ModelJob): boolean {
    return attempt >= this.state.settings.maxAttempts;
  }

  #expired(capabilities: readonly string[], now: number): ModelJob | null {
    let first: ModelJob | null = null;
    for (const job of this.state.jobs) {
      if (job.status !== "running" || job.leaseUntil === null || job.leaseUntil >= now) continue;
      if (!capabilities.includes(job.kind) || this.#isWornOut(job)) continue;
      if (first === null || job.leaseUntil < (first.leaseUntil ?? 0)) first = job;
    }
    return first;
  }

  #waiting(capabilities: readonly string[], now: number): ModelJob | null {
    let first: ModelJob | null = null;
    for (const job of this.state.jobs) {
      if (job.status !== "queued" || job.runAt > now || !capabilities.includes(job.kind)) continue;
      if (openJob(job.server, "running") !== undefined) continue;
      if (first === null || job.runAt < first.runAt) first = job;
    }
    return first;
  }

  #claimed(job: ModelJob): Schemas["ClaimedJob"]["job"] {
    const payload = payloadOf(this.state, job);
    const { filter } = payload as { readonly filter?: Filter };
    job.filterGiven = filter?.id ?? null;
    return {
      id: job.id,
      kind: job.kind,
      attempt: job.attempt,
      epoch: job.epoch,
      lease_seconds: this.state.settings.leaseSeconds,
      lease_expires_at: new Date(job.leaseUntil ?? 0).toISOString(),
      cancel_requested: job.cancelRequested,
      payload,
    };
  }
}

function acknowledged({ leaseUntil, cancelRequested, status }: ModelJob): ModelAnswer<Schemas["StepAck"]> {
  const lease_expires_at = leaseUntil === null ? null : new Date(leaseUntil).toISOString();
  return { status: 200, body: { lease_expires_at, cancel_requested: cancelRequested, status } };
}

/** A step is one row: reported as running it begins, reported again by its name it ends. */
function writeStep(job: ModelJob, step: Schemas["ReportedStep"], phase: Schemas["JobPhase"]): void {
  const open = job.steps.filter((each) => each.epoch === job.epoch && each.status === "running");
  const same = open.filter((each) => each.name === step.name);
  if (same.length > 0) {
    for (const each of same) each.status = step.status;
    return;
  }
  for (const each of open) if (each.name === "observe" || each.name === "verify") each.status = "succeeded";
  const { epoch, attempt } = job;
  job.steps.push({ epoch, attempt, phase, name: step.name, status: step.status });
}
