import type { FieldError } from "@kule/contract/field-errors";
import type { Schemas } from "@kule/contract/schemas";
import type { JobStatus } from "@kule/rules/jobs/actions";
import { type JobPhase, nextProgress } from "@kule/rules/jobs/progress";
import { keptStepText, maxStepsOfJob } from "@kule/rules/jobs/step-limits";
import { staleLease } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../platform/api-request.ts";
import { committing } from "../platform/crash-points.ts";
import type { Database, Tx } from "../platform/database.ts";
import type { Deps } from "../platform/deps.ts";
import { Conflict, fieldError, NotFound } from "../platform/errors.ts";
import { handlerOf, type JobHandlers } from "../platform/job-handler.ts";
import type { JobIdentity, JobRow } from "../platform/jobs.ts";
import { type Reply, reply } from "../platform/reply.ts";
import { inTransaction, sendAhead } from "../platform/transaction.ts";
import type { ClaimedJobs } from "./claimed-jobs.ts";
import {
  type AttemptOutcome,
  type EndContext,
  endAttempt,
  type ReportedState,
  StaleLease,
} from "./end-attempt.ts";
import { storedObservation } from "./observed.ts";

type Report = Schemas["StepReport"];

/** A rule that the contract cannot express: each earlier step has a number, from 1 on. */
export function checkReport(
  _request: ApiRequest<"reportStep">,
  { earlier_steps: earlier = [], seq = Number.MAX_SAFE_INTEGER }: Partial<Report>,
): FieldError[] {
  if (earlier.length === 0 || earlier.length < seq) return [];
  return [
    fieldError("/earlier_steps", "too_long", `has more steps than there are numbers before seq ${seq}`),
  ];
}

/** The report of an agent. */
export async function reportStep(
  request: ApiRequest<"reportStep">,
  found: JobIdentity,
  handlers: JobHandlers,
  claimed: ClaimedJobs,
): Promise<Reply> {
  return reply(200, await recordReport({ deps: request.deps, handlers, claimed }, found, request.body));
}

/** What a report is recorded with. */
export type Recording = {
  readonly deps: Pick<Deps, "db" | "settings" | "metrics">;
  readonly handlers: JobHandlers;
  readonly claimed: ClaimedJobs;
};

/**
 * Records the report of a job's holder. A report that was recorded before changes nothing and gets the same
 * kind of answer; one of a former holder changes nothing and is refused.
 *
 * @throws Conflict for a former holder; NotFound for a job that is not there
 */
export async function recordReport(
  { deps: { db, settings, metrics }, handlers, claimed }: Recording,
  found: JobIdentity,
  report: Report,
): Promise<Schemas["StepAck"]> {
  if (report.outcome === undefined) {
    const phase = await phaseOfSteps(db, found, report);
    const query = progressQuery(found, report, phase, settings.leaseSeconds);
    const [job] = (await committing(() => query.execute(db))).rows;
    if (job !== undefined) return acknowledge(job);
  }
  try {
    const job = await inTransaction(db, (tx) => decide(tx, found, report, { handlers, settings }));
    if (job.status !== "running" && job.status !== "queued") claimed.forget(found.id);
    if (job.ended !== undefined)
      metrics.jobs.attemptEnded(job.ended, job.status as JobStatus, job.ended.ageSeconds);
    return acknowledge(job);
  } catch (error) {
    if (error instanceof NotFound) claimed.forget(found.id);
    if (error instanceof StaleLease) throw leaseLost(found.id);
    throw error;
  }
}

type Acknowledged = Pick<JobRow, "lease_until" | "cancel_requested" | "status">;

/** `ended` when this report ended the attempt, and not an earlier copy of it. */
type Decided = Acknowledged & { readonly ended?: LockedJob };
type LockedJob = JobRow & { readonly isLeased: boolean; readonly ageSeconds: number };

function acknowledge(job: Acknowledged): Schemas["StepAck"] {
  return {
    lease_expires_at: job.lease_until?.toISOString() ?? null,
    cancel_requested: job.cancel_requested,
    status: job.status as JobStatus,
  };
}

/**
 * The row of the job after the report of its holder; no row when the report is not of the job's holder, or was recorded
 * before. Everything but the end of an attempt is this one statement, since a job has many reports.
 */
function progressQuery(found: JobIdentity, report: Report, phase: JobPhase | null, leaseSeconds: number) {
  return sql<JobRow>`
    select * from kule_report_progress(
      ${found.organisation_id}, ${found.id}, ${report.epoch}::integer, ${report.seq}::integer, ${phase},
      ${nextProgress(0, phase, report.progress ?? null)}::integer, ${report.irreversible === true},
      ${leaseSeconds}::integer, ${writtenSteps(phase, report)}::jsonb, ${maxStepsOfJob}::integer,
      ${report.irreversible === true})`;
}

/** Records the steps of a report that ends its attempt. The end itself is written by endAttempt. */
function recordLastSteps(tx: Tx, job: JobRow, report: Report): void {
  if (report.step === undefined && report.earlier_steps === undefined) return;
  const steps = sql`
    update job set step_count = step_count + kule_record_steps(
             organisation_id, id, epoch, ${report.seq}::integer, attempt, ${writtenSteps(phaseOf(job, report), report)}::jsonb,
             ${maxStepsOfJob}::integer - step_count)
     where organisation_id = ${job.organisation_id} and id = ${job.id}`;
  sendAhead(tx, steps);
}

function phaseOf(job: JobRow, { phase }: Report): JobPhase | null {
  return phase ?? (job.phase as JobPhase | null);
}

/** The phase of a report's step. Agents send it with each step; where one does not, it is the job's present phase. */
async function phaseOfSteps(
  db: Database,
  job: JobIdentity,
  { phase, step }: Report,
): Promise<JobPhase | null> {
  if (phase !== undefined || step === undefined) return phase ?? null;
  const row = await db
    .selectFrom("job")
    .select("phase")
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .executeTakeFirst();
  return (row?.phase ?? null) as JobPhase | null;
}

/** The steps of a report in their order, as kule_record_steps reads them. */
function writtenSteps(phase: JobPhase | null, { earlier_steps: earlier = [], step }: Report): string {
  return JSON.stringify(
    [...earlier, ...(step === undefined ? [] : [{ ...step, phase: phase ?? "observe" }])].map((each) => ({
      phase: each.phase,
      name: each.name,
      status: each.status,
      message: keptStepText(each.message ?? null),
      external_ref: each.external_ref ?? null,
    })),
  );
}

/** Under the locks of the resource and its jobs: ends the attempt, or tells a repeated report from a stale one. */
async function decide(tx: Tx, found: JobIdentity, report: Report, context: EndContext): Promise<Decided> {
  // The resource before its jobs, as everywhere, so that no two transactions wait for each other.
  if (report.outcome !== undefined) await handlerOf(context.handlers, found).lockResource(tx, found);
  const job = await lockJob(tx, found);
  if (job.epoch !== report.epoch) throw new StaleLease(job.id);
  if (report.seq <= job.last_seq) {
    // The answer to this report was lost; its content is recorded. After a report that ends the attempt the
    // job is not running any more; if it was not such a report and the job is not running, the attempt was
    // ended otherwise.
    if (job.isLeased || report.outcome !== undefined) return job;
    throw new StaleLease(job.id);
  }
  if (!job.isLeased || report.outcome === undefined) throw new StaleLease(job.id);
  recordLastSteps(tx, job, report);
  const status = await endAttempt(tx, job, readOutcome(report.outcome), context, stateOf(job, report));
  return { status, lease_until: null, cancel_requested: job.cancel_requested, ended: job };
}

function stateOf(job: JobRow, report: Report): ReportedState {
  const phase = phaseOf(job, report);
  // A report that names neither a phase nor a step is about none, as in progressQuery.
  const isAboutPhase = report.phase !== undefined || report.step !== undefined;
  return {
    last_seq: report.seq,
    phase,
    progress: nextProgress(job.progress, isAboutPhase ? phase : null, report.progress ?? null),
    irreversible: job.irreversible || report.irreversible === true,
  };
}

/** @throws NotFound for a job that this process knows and the database does not: one that was restored from a backup */
async function lockJob(tx: Tx, job: JobIdentity): Promise<LockedJob> {
  const row = await tx
    .selectFrom("job")
    .selectAll()
    .select([
      sql<boolean>`job.status = 'running' and lease_until > clock_timestamp()`.as("isLeased"),
      sql<number>`extract(epoch from clock_timestamp() - created_at)::float8`.as("ageSeconds"),
    ])
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new NotFound();
  return row;
}

function readOutcome(outcome: NonNullable<Report["outcome"]>): AttemptOutcome {
  const { error, observed } = outcome;
  return {
    status: outcome.status,
    error:
      error === undefined
        ? null
        : {
            code: error.code,
            message: error.message,
            step: error.step ?? null,
            retryable: error.retryable ?? outcome.status === "retry",
          },
    internal: error?.internal ?? null,
    power: observed?.power_state ?? null,
    vmidUnusable: observed?.vmid_unusable ?? null,
    result: observed === undefined ? null : storedObservation(observed),
  };
}

function leaseLost(jobId: string) {
  return new Conflict(
    staleLease("lease_held", "the job is not held under this epoch any more; nothing was changed", {
      resource: jobId,
      fix: "stop working on this job and claim again",
    }),
  );
}
