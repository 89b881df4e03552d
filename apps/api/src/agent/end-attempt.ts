import type { SystemAuditAction } from "@kule/contract/system-audit";
import type { JobStatus } from "@kule/rules/jobs/actions";
import { type JobErrorCode, jobErrorText, knownErrorCode } from "@kule/rules/jobs/region-texts";
import { backoffSeconds, countsAsAttempt, hasAttemptsLeft } from "@kule/rules/jobs/retry";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../platform/database.ts";
import { newId } from "../platform/ids.ts";
import { handlerOf, type JobEnd, type JobHandlers, type PowerState } from "../platform/job-handler.ts";
import { type JobError, type JobRow, noteJobEnd } from "../platform/jobs.ts";
import type { Settings } from "../platform/settings.ts";
import { send, sendAhead } from "../platform/transaction.ts";

/** What an agent, or the reaper in its place, reports about the end of an attempt. */
export type AttemptOutcome = {
  readonly status: "succeeded" | "failed" | "cancelled" | "retry" | "released";
  readonly error: JobError | null;
  readonly internal: string | null;
  readonly power: PowerState | null;
  readonly vmidUnusable: "taken" | "quarantined" | null;
  /** What the agent observed. */
  readonly result: object | null;
  /** How long a job that is `released` waits for its next attempt; no wait when left out. */
  readonly waitSeconds?: number;
};

/** The attempt is no longer the job's: another agent holds it, or it has ended. Nothing was changed. */
export class StaleLease extends Error {}

/** What the report that ends an attempt says of the job beside its outcome. */
export type ReportedState = Partial<Pick<JobRow, "last_seq" | "phase" | "progress" | "irreversible">>;

export type EndContext = { readonly handlers: JobHandlers; readonly settings: Settings };

/**
 * Ends an attempt of a running job: finally, with everything that this means for its resource, or back into
 * the queue. The resource's row and the job's row must be locked, in this order.
 *
 * @param reported what else of the job's row the agent's last report changes
 * @returns the job's status now
 * @throws StaleLease when the job's epoch is not the attempt's any more
 */
export async function endAttempt(
  tx: Tx,
  job: JobRow,
  outcome: AttemptOutcome,
  context: EndContext,
  reported: ReportedState = {},
): Promise<JobStatus> {
  const replaced = outcome.vmidUnusable !== null && outcome.status !== "succeeded" && !job.cancel_requested;
  if (replaced && outcome.vmidUnusable !== null) {
    const handler = handlerOf(context.handlers, job);
    const hasAnother = await handler.replaceVmid(tx, job, outcome.vmidUnusable);
    if (!hasAnother) {
      const error = ended("vmid_exhausted", "The region has no VM number left");
      return finish(tx, job, { ...outcome, status: "failed", error }, context, reported);
    }
    noteReplacedVmid(tx, job, outcome);
  }
  const next = await decideNext(tx, job, outcome, replaced);
  if (next.status === "queued") return requeue(tx, job, next, outcome, reported);
  return finish(tx, job, { ...outcome, status: next.status, error: next.error }, context, reported);
}

type FinalAttempt = AttemptOutcome & { readonly status: JobEnd["status"] };

async function finish(
  tx: Tx,
  job: JobRow,
  { status, error, power, ...more }: FinalAttempt,
  { handlers, settings }: EndContext,
  reported: ReportedState,
): Promise<FinalAttempt["status"]> {
  const written = writeEnd(tx, job, { status, error, power, ...more }, reported);
  const {
    public_network: publicNetwork = null,
    disk_bytes: diskBytes = null,
    filter = null,
    network_generation: networkGeneration = null,
    domain = null,
    certificate_request: certificateRequest = null,
    load_balancer: loadBalancer = null,
  } = (more.result ?? {}) as {
    public_network?: "applied" | "next_boot";
    disk_bytes?: number | null;
    filter?: string;
    network_generation?: number;
    domain?: JobEnd["domain"];
    certificate_request?: JobEnd["certificateRequest"];
    load_balancer?: JobEnd["loadBalancer"];
  };
  // It becomes the reason of a record that tenants read: in our own text, not in the region's.
  const message = error === null ? defaultMessages[status] : jobErrorText(error.code);
  const end: JobEnd = {
    status,
    power,
    publicNetwork,
    diskBytes,
    filter,
    networkGeneration,
    domain,
    certificateRequest,
    loadBalancer,
    message,
    code: error?.code ?? null,
  };
  // Sent first, so it is first in the transaction; its answer comes with that of the first read.
  const settled = handlerOf(handlers, job).settle(tx, { ...job, ...reported }, end, settings);
  await Promise.all([written, settled]);
  return status;
}

const defaultMessages: { readonly [status in JobEnd["status"]]: string } = {
  succeeded: "Done",
  failed: "The job failed",
  cancelled: "The job was cancelled",
};

type Next =
  | { readonly status: "queued"; readonly delaySeconds: number; readonly countsAttempt: boolean }
  | { readonly status: JobEnd["status"]; readonly error: JobError | null };

async function decideNext(tx: Tx, job: JobRow, outcome: AttemptOutcome, replaced: boolean): Promise<Next> {
  const goesBack = outcome.status === "retry" || outcome.status === "released" || replaced;
  // A destroy that an agent gives up without a request to stop would leave its server half removed forever.
  if (!goesBack && outcome.status === "cancelled" && !job.cancel_requested)
    return {
      status: "failed",
      error: outcome.error ?? ended("given_up", "The region ended the job, though it was not cancelled"),
    };
  if (!goesBack) return { status: outcome.status as JobEnd["status"], error: outcome.error };
  if (job.cancel_requested)
    return { status: "cancelled", error: ended("cancelled", "The job was cancelled") };
  if (await hasSuccessor(tx, job))
    return {
      status: "cancelled",
      error: ended("superseded", "A newer job of the same resource took its place"),
    };
  if (outcome.status === "released")
    return { status: "queued", delaySeconds: outcome.waitSeconds ?? 0, countsAttempt: false };
  // Of the control plane's own jobs alone: a region may report any code.
  const ownCode = job.region === null ? (outcome.error?.code ?? null) : null;
  const countsAttempt = countsAsAttempt(ownCode, job.attempt, job.max_attempts);
  if (countsAttempt && !hasAttemptsLeft(job.attempt, job.max_attempts))
    return {
      status: "failed",
      error: outcome.error ?? ended("attempts_exhausted", `The job gave up after ${job.attempt} attempts`),
    };
  // With another VM number the attempt starts afresh; a temporary error needs time.
  const delaySeconds = replaced ? 0 : backoffSeconds(job.attempt, Math.random());
  return { status: "queued", delaySeconds, countsAttempt };
}

/**
 * A resource has at most one queued job: when there is a newer one, this one cannot be queued, and it is no
 * longer wanted.
 */
async function hasSuccessor(tx: Tx, job: JobRow): Promise<boolean> {
  const row = await tx
    .selectFrom("job")
    .select("id")
    .where("organisation_id", "=", job.organisation_id)
    .where("resource_id", "=", job.resource_id)
    .where("status", "=", "queued")
    .executeTakeFirst();
  return row !== undefined;
}

/** The fence: the one condition under which an attempt may write. Without it a paused agent would end its successor's job. */
export function isHeld(job: Pick<JobRow, "id" | "epoch">) {
  return sql<boolean>`job.id = ${job.id} and job.epoch = ${job.epoch} and job.status = 'running'`;
}

/** Rejects when the attempt does not hold the job. */
async function writeEnd(tx: Tx, job: JobRow, outcome: FinalAttempt, reported: ReportedState): Promise<void> {
  const row = tx
    .updateTable("job")
    .set({
      ...reported,
      status: outcome.status,
      ...(outcome.status === "succeeded" ? { progress: 100 } : {}),
      lease_until: null,
      // The moment of its usage, too: one for all that this transaction writes.
      finished_at: sql<Date>`now()`,
      error: outcome.status === "succeeded" || outcome.error === null ? null : JSON.stringify(outcome.error),
      internal_error: outcome.internal,
      result: outcome.result === null ? null : JSON.stringify(outcome.result),
    })
    .where("organisation_id", "=", job.organisation_id)
    .where(isHeld(job))
    .returning("id");
  const written = send(tx, row);
  closeSteps(tx, job, outcome.status === "succeeded" ? "succeeded" : "failed");
  sendAhead(tx, sql`select kule_queue_finish(${job.id}, ${job.epoch})`);
  noteJobEnd(
    tx,
    job,
    outcome.status,
    outcome.status === "succeeded" || outcome.error === null ? null : knownErrorCode(outcome.error.code),
  );
  if ((await written).length === 0) throw new StaleLease(job.id);
}

async function requeue(
  tx: Tx,
  job: JobRow,
  next: Extract<Next, { status: "queued" }>,
  outcome: AttemptOutcome,
  reported: ReportedState,
): Promise<"queued"> {
  const { numUpdatedRows } = await tx
    .updateTable("job")
    .set({
      ...reported,
      status: "queued",
      lease_until: null,
      run_at: sql<Date>`clock_timestamp() + make_interval(secs => ${next.delaySeconds})`,
      attempt: next.countsAttempt ? job.attempt : Math.max(0, job.attempt - 1),
      // What is irreversible stays recorded: the next attempt finds it done.
      error: outcome.error === null ? null : JSON.stringify(outcome.error),
      internal_error: outcome.internal,
      // If the job never gets another attempt, this is the last observation of its resource.
      result: outcome.result === null ? null : JSON.stringify(outcome.result),
    })
    .where("organisation_id", "=", job.organisation_id)
    .where(isHeld(job))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new StaleLease(job.id);
  closeSteps(tx, job, "failed");
  sendAhead(tx, sql`select kule_queue_release(${job.id}, ${job.epoch})`);
  return "queued";
}

/** No step of a job that is not running may be shown as running. */
function closeSteps(tx: Tx, job: JobRow, status: "succeeded" | "failed"): void {
  const steps = tx
    .updateTable("job_step")
    .set({
      status,
      finished_at: sql<Date>`clock_timestamp()`,
      ...(status === "failed" ? { message: sql<string>`coalesce(message, 'interrupted')` } : {}),
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("job_id", "=", job.id)
    .where("status", "=", "running");
  sendAhead(tx, steps);
}

/**
 * A VM in Kule's range was created outside of Kule, or is stuck: a message for operators, not for customers.
 */
function noteReplacedVmid(tx: Tx, job: JobRow, outcome: AttemptOutcome): void {
  const row = systemQuery(tx, "an audit row for operators")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: null,
      region: job.region,
      actor_type: "agent",
      actor_id: job.agent_token_id,
      actor_name: job.agent_name,
      action: "vmid.replace" satisfies SystemAuditAction,
      resource: job.resource_id,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: job.request_id,
      source_address: null,
      details: JSON.stringify({
        job: job.id,
        why: outcome.vmidUnusable,
        message: outcome.error?.message ?? null,
      }),
    });
  sendAhead(tx, row);
}

const ended = (code: JobErrorCode, message: string): JobError => ({
  code,
  message,
  step: null,
  retryable: true,
});
