// The control plane's rules for jobs as plain objects: claims, reports, expiry, and the requests of people.
// It is a model of apps/api and its SQL; conformance.ts calls both in the same way and compares every answer.

import type { Schemas, ServerJobKind } from "@kule/contract/schemas";
import {
  decideCancel,
  decideRetry,
  isPreemptedByInterfaceJobs,
  leavesRebuildOpen,
  writeTheFilter,
} from "@kule/rules/jobs/actions";
import { nextProgress } from "@kule/rules/jobs/progress";
import { restoresTo, type ServerStatus } from "@kule/rules/servers/lifecycle";
import { endAttempt, macsOf, nothingSeen, preemptQueuedJob, retried, settle } from "./model-endings.ts";
import { payloadOf } from "./model-payloads.ts";
import {
  type Accepted,
  cancelQueued,
  type ModelAnswer,
  refused,
  refusedByRules,
  type ServerAnswer,
} from "./model-refusals.ts";
import {
  type JobParameters,
  type ModelJob,
  type ModelServer,
  type ModelSettings,
  ModelState,
} from "./model-state.ts";

export class ControlPlaneModel {
  readonly state: ModelState;
  readonly #random: () => number;
  /** Called when a waiting claim may find something now. */
  onNews: () => void = () => {};

  constructor(settings: ModelSettings, now: () => number, random: () => number) {
    this.state = new ModelState(settings, now);
    this.#random = random;
  }

  // --- Calls of agents. ---

  /** One search: the next job, or null. */
  claim(body: Schemas["ClaimRequest"]): Schemas["ClaimedJob"]["job"] | null {
    const { state } = this;
    const now = state.now();
    const same = state.jobs.find((job) => job.claimId === body.claim_id && job.status === "running");
    if (same !== undefined && (same.leaseUntil ?? 0) > now) return this.#claimed(same);
    if (same !== undefined && same.attempt >= same.maxAttempts) return null;
    const job = same ?? this.#expired(body.capabilities, now) ?? this.#waiting(body.capabilities, now);
    if (job === null) return null;
    job.status = "running";
    job.epoch += 1;
    job.attempt += 1;
    job.lastSeq = 0;
    job.claimId = body.claim_id;
    job.phase = null;
    job.errorCode = null;
    job.leaseUntil = now + state.settings.leaseSeconds * 1000;
    for (const step of job.steps) if (step.status === "running") step.status = "failed";
    return this.#claimed(job);
  }

  /** When a claim may find something without a notification; null when never. */
  nextDue(): number | null {
    let due: number | null = null;
    for (const job of this.state.jobs) {
      const at = job.status === "queued" ? job.runAt : job.status === "running" ? job.leaseUntil : null;
      if (at !== null && at !== Number.POSITIVE_INFINITY && (due === null || at < due)) due = at;
    }
    return due;
  }

  report(jobId: string, report: Schemas["StepReport"]): ModelAnswer<Schemas["StepAck"]> {
    const { state } = this;
    const job = state.job(jobId);
    if (job === undefined) return refused(404, "not_found");
    if (job.epoch !== report.epoch) return refused(409, "stale_lease");
    const isLeased = job.status === "running" && (job.leaseUntil ?? 0) > state.now();
    if (report.seq <= job.lastSeq)
      return isLeased || report.outcome !== undefined ? this.#acknowledged(job) : refused(409, "stale_lease");
    if (!isLeased) return refused(409, "stale_lease");
    job.lastSeq = report.seq;
    job.phase = report.phase ?? job.phase;
    job.progress = nextProgress(job.progress, job.phase, report.progress ?? null);
    job.irreversible ||= report.irreversible === true;
    job.leaseUntil = state.now() + state.settings.leaseSeconds * 1000;
    if (report.step !== undefined) writeStep(job, report.step);
    if (report.outcome !== undefined) {
      const { status, error, observed } = report.outcome;
      const outcome = {
        status,
        errorCode: error?.code ?? null,
        power: observed?.power_state ?? null,
        vmidUnusable: observed?.vmid_unusable ?? null,
        publicNetwork: observed?.public_network ?? null,
        macs: macsOf(observed),
        diskBytes: (observed as { disk_bytes?: number } | undefined)?.disk_bytes ?? null,
        filter: observed?.filter ?? null,
      };
      endAttempt(state, job, outcome, this.#random);
      this.onNews();
    }
    return this.#acknowledged(job);
  }

  // --- Requests of people. ---

  createServer(start = true): Accepted {
    const { state } = this;
    const server = state.addServer(`server-${state.servers.size + 1}`, start);
    if (state.takeVmid(server.id) === null || state.takeAddress(server.id) === null)
      throw new Error("the model has no room for another server: give it a wider range");
    return this.queue(server, "ServerCreate");
  }

  deleteServer(serverId: string): ServerAnswer {
    const { state } = this;
    const server = state.servers.get(serverId);
    if (server === undefined) return refused(404, "not_found");
    const no = refusedByRules(state, server, "delete");
    if (no !== null) return no;
    const { running, queued } = state.openJobs(serverId);
    if (queued !== null) preemptQueuedJob(state, server, queued);
    if (running !== null && running.kind !== "ServerStop") running.cancelRequested = true;
    server.restoresTo = restoresTo(
      server.status as ServerStatus,
      server.observedGeneration > 0,
      server.powerState === "on",
    );
    server.status = "pending_deletion";
    server.reasonCode = null;
    server.purgeAt = state.now() + state.settings.removalBufferSeconds * 1000;
    server.generation += 1;
    const answer = this.queue(server, "ServerStop");
    state.recordUsage(["server.purge_scheduled"], serverId, answer.body.job.id);
    return answer;
  }

  /** Destroys it at once, out of the buffer or without one. */
  purgeServer(serverId: string): ServerAnswer {
    const { state } = this;
    const server = state.servers.get(serverId);
    if (server === undefined) return refused(404, "not_found");
    const no = refusedByRules(state, server, "purge");
    if (no !== null) return no;
    const { running, queued } = state.openJobs(serverId);
    if (queued !== null) preemptQueuedJob(state, server, queued);
    if (running !== null && running.kind !== "ServerStop") running.cancelRequested = true;
    const isMarked = server.status === "pending_deletion";
    if (!isMarked)
      server.restoresTo = restoresTo(
        server.status as ServerStatus,
        server.observedGeneration > 0,
        server.powerState === "on",
      );
    server.status = "deleting";
    server.reasonCode = null;
    server.purgeAt = state.now();
    server.generation += 1;
    const answer = this.queue(server, "ServerDestroy");
    if (!isMarked) state.recordUsage(["server.purge_scheduled"], serverId, answer.body.job.id);
    return answer;
  }

  cancelDeletion(serverId: string): ServerAnswer {
    const { state } = this;
    const server = state.servers.get(serverId);
    if (server === undefined) return refused(404, "not_found");
    const no = refusedByRules(state, server, "cancel_deletion");
    if (no !== null) return no;
    const { running, queued } = state.openJobs(serverId);
    if (queued !== null) preemptQueuedJob(state, server, queued);
    if (running?.kind === "ServerStop") running.cancelRequested = true;
    const to = server.restoresTo ?? "error";
    const isBeingCreated =
      to === "error" && (running?.kind === "ServerCreate" || running?.kind === "ServerAdopt");
    server.status = isBeingCreated ? "creating" : to === "running" ? "starting" : to;
    server.reasonCode = to === "error" && !isBeingCreated ? "create_cancelled" : null;
    server.purgeAt = null;
    server.generation += 1;
    if (to !== "error") return this.queue(server, "ServerRestore");
    // A server that was never created has nothing in the region to restore.
    const job = state.addJob("ServerRestore", serverId);
    job.status = "succeeded";
    job.progress = 100;
    job.ends = 1;
    return { status: 202, body: { server, job } };
  }

  cancelJob(jobId: string): ModelAnswer<ModelJob> {
    const job = this.state.job(jobId);
    if (job === undefined) return refused(404, "not_found");
    if (!decideCancel(job).allowed) return refused(409, "invalid_state");
    if (job.status === "queued") {
      cancelQueued(job, "cancelled");
      settle(this.state, job, "cancelled", { ...nothingSeen, ...job.lastSeen });
      this.onNews();
    } else job.cancelRequested = true;
    return { status: 202, body: job };
  }

  /** The round of its firewalls that waits is superseded by a job that is about to be written, and brings the rules along. */
  passWaitingRules(server: ModelServer): void {
    const { queued } = this.state.openJobs(server.id);
    if (queued !== null && isPreemptedByInterfaceJobs(queued.kind))
      preemptQueuedJob(this.state, server, queued);
  }

  retryJob(jobId: string): ModelAnswer<ModelJob> {
    const { state } = this;
    const job = state.job(jobId);
    if (job === undefined) return refused(404, "not_found");
    const server = state.serverOf(job);
    const { running, queued } = state.openJobs(server.id);
    const givesWay = queued?.kind === "FirewallApply" && writeTheFilter.some((kind) => kind === job.kind);
    const decision = decideRetry(
      {
        kind: job.kind,
        status: job.status,
        irreversible: job.irreversible,
        isOvertaken: state.jobs.some(
          (other) =>
            other.serverId === server.id &&
            other.number > job.number &&
            (other.kind === job.kind ||
              (job.kind === "ServerRebuild" && !leavesRebuildOpen(other.kind, other.status))),
        ),
      },
      {
        status: server.status,
        wasCreated: server.observedGeneration > 0,
        hasOpenJob: running !== null || (queued !== null && !givesWay),
        isLocked: false,
      },
    );
    if (!decision.allowed) return refused(409, "invalid_state");
    if (queued !== null) preemptQueuedJob(state, server, queued);
    Object.assign(job, {
      status: "queued",
      attempt: 0,
      phase: null,
      progress: 0,
      runAt: state.moment(),
      cancelRequested: false,
      errorCode: null,
      lastSeen: null,
    });
    retried(state, job);
    this.onNews();
    return { status: 202, body: job };
  }

  /** Writes a job for a server, and the server's way there when the job has one. */
  queue(server: ModelServer, kind: ServerJobKind, parameters: JobParameters = {}): Accepted {
    const job = this.state.addJob(kind, server.id, parameters);
    this.onNews();
    return { status: 202, body: { server, job } };
  }

  // --- What the worker does by itself. ---

  /** Ends the server's time in the removal buffer, if it is over. True if it is being deleted because of this. */
  expireBuffer(serverId: string): boolean {
    const { state } = this;
    const server = state.servers.get(serverId);
    if (server?.status !== "pending_deletion") return false;
    if (server.purgeAt === null || server.purgeAt > state.now()) return false;
    const { queued } = state.openJobs(serverId);
    if (queued !== null) preemptQueuedJob(state, server, queued);
    this.queue(server, "ServerDestroy");
    server.status = "deleting";
    server.reasonCode = null;
    server.generation += 1;
    return true;
  }

  /** Releases the jobs whose lease expired and that no agent took over. */
  expireLeases(): number {
    const { state } = this;
    const now = state.now();
    const expired = state.jobs.filter((job) => job.status === "running" && (job.leaseUntil ?? now) < now);
    for (const job of expired) {
      endAttempt(state, job, { ...nothingSeen, status: "retry", errorCode: "lease_expired" }, this.#random);
      this.onNews();
    }
    return expired.length;
  }

  // --- In here. ---

  #expired(capabilities: readonly string[], now: number): ModelJob | null {
    let first: ModelJob | null = null;
    for (const job of this.state.jobs) {
      if (job.status !== "running" || job.leaseUntil === null || job.leaseUntil >= now) continue;
      if (!capabilities.includes(job.kind) || job.attempt >= job.maxAttempts) continue;
      if (first === null || job.leaseUntil < (first.leaseUntil ?? 0)) first = job;
    }
    return first;
  }

  #waiting(capabilities: readonly string[], now: number): ModelJob | null {
    let first: ModelJob | null = null;
    for (const job of this.state.jobs) {
      if (job.status !== "queued" || job.runAt > now || !capabilities.includes(job.kind)) continue;
      if (this.state.openJobs(job.serverId).running !== null) continue;
      if (first === null || job.runAt < first.runAt) first = job;
    }
    return first;
  }

  #claimed(job: ModelJob): Schemas["ClaimedJob"]["job"] {
    const payload = payloadOf(this.state, job);
    job.filterGiven = filterIdIn(payload);
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

  #acknowledged(job: ModelJob): ModelAnswer<Schemas["StepAck"]> {
    const { leaseUntil, cancelRequested, status } = job;
    const lease_expires_at = leaseUntil === null ? null : new Date(leaseUntil).toISOString();
    return { status: 200, body: { lease_expires_at, cancel_requested: cancelRequested, status } };
  }
}

function filterIdIn(payload: Schemas["JobPayload"]): string | null {
  return (payload as { readonly filter?: { readonly id: string } }).filter?.id ?? null;
}

/** A step is one row: reported as running it begins, reported again by its name it ends. */
function writeStep(job: ModelJob, step: NonNullable<Schemas["StepReport"]["step"]>): void {
  const open = job.steps.filter((each) => each.epoch === job.epoch && each.status === "running");
  const same = open.filter((each) => each.name === step.name);
  if (same.length > 0) {
    for (const each of same) each.status = step.status;
    return;
  }
  for (const each of open) if (each.name === "observe" || each.name === "verify") each.status = "succeeded";
  const { epoch, attempt } = job;
  job.steps.push({ epoch, attempt, phase: job.phase ?? "observe", name: step.name, status: step.status });
}
