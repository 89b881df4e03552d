import type { Schemas } from "@kule/contract/schemas";
import type { JobStatus } from "@kule/rules/jobs/actions";
import { nextProgress } from "@kule/rules/jobs/progress";
import { keptStepText, maxStepsOfJob } from "@kule/rules/jobs/step-limits";
import { staleLease } from "@kule/rules/refusals";
import { type RawBuilder, sql } from "kysely";
import type { ApiRequest } from "../platform/api-request.ts";
import type { Tx } from "../platform/database.ts";
import { Conflict } from "../platform/errors.ts";
import { handlerOf, type JobHandlers } from "../platform/job-handler.ts";
import type { JobRow } from "../platform/jobs.ts";
import { type Reply, reply } from "../platform/reply.ts";
import { type AttemptOutcome, endAttempt, isHeld, StaleLease } from "./end-attempt.ts";
import { storedObservation } from "./observed.ts";

type Report = Schemas["StepReport"];

/**
 * Records the report of a job's holder. A report that was recorded before changes nothing and gets the same
 * kind of answer; one of a former holder changes nothing and is refused.
 */
export async function reportStep(
  request: ApiRequest<"reportStep">,
  found: JobRow,
  handlers: JobHandlers,
): Promise<Reply> {
  const report: Report = request.body;
  try {
    const job = await request.db.transaction().execute((tx) => record(tx, request, found, report, handlers));
    const ack: Schemas["StepAck"] = {
      lease_expires_at: job.lease_until?.toISOString() ?? null,
      cancel_requested: job.cancel_requested,
      status: job.status as JobStatus,
    };
    return reply(200, ack);
  } catch (error) {
    if (error instanceof StaleLease) throw leaseLost(found.id);
    throw error;
  }
}

async function record(
  tx: Tx,
  request: ApiRequest,
  found: JobRow,
  report: Report,
  handlers: JobHandlers,
): Promise<JobRow> {
  // The resource before its jobs, as everywhere, so that no two transactions wait for each other.
  if (report.outcome !== undefined) await handlerOf(handlers, found).lockResource(tx, found);
  const job = await lockJob(tx, found);
  if (job.epoch !== report.epoch) throw new StaleLease(job.id);
  if (report.seq <= job.last_seq) {
    // The answer to this report was lost; its content is recorded. After a report that ends the attempt the
    // job is not running any more; if it was not such a report and the job is not running, the attempt was
    // ended otherwise.
    if (job.isLeased || report.outcome !== undefined) return job;
    throw new StaleLease(job.id);
  }
  if (!job.isLeased) throw new StaleLease(job.id);

  const recorded = await writeReport(tx, job, report, request.deps.settings.leaseSeconds);
  if (report.step !== undefined) await writeStep(tx, recorded, report, report.step);
  if (report.outcome === undefined) {
    await sql`select kule_queue_renew(${job.id}, ${job.epoch})`.execute(tx);
    return recorded;
  }
  await endAttempt(tx, recorded, readOutcome(report.outcome), { handlers, settings: request.deps.settings });
  return lockJob(tx, found);
}

async function lockJob(tx: Tx, job: JobRow): Promise<JobRow & { isLeased: boolean }> {
  return tx
    .selectFrom("job")
    .selectAll()
    .select(sql<boolean>`job.status = 'running' and lease_until > clock_timestamp()`.as("isLeased"))
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

async function writeReport(tx: Tx, job: JobRow, report: Report, leaseSeconds: number): Promise<JobRow> {
  const phase = report.phase ?? (job.phase as Report["phase"]) ?? null;
  const row = await tx
    .updateTable("job")
    .set({
      last_seq: report.seq,
      phase,
      progress: nextProgress(job.progress, phase, report.progress ?? null),
      irreversible: job.irreversible || report.irreversible === true,
      lease_until: sql<Date>`clock_timestamp() + make_interval(secs => ${leaseSeconds})`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where(isHeld(job))
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw new StaleLease(job.id);
  return row;
}

/** A step is one row: reported as running it begins, reported again by its name it ends. */
async function writeStep(
  tx: Tx,
  job: JobRow,
  report: Report,
  step: NonNullable<Report["step"]>,
): Promise<void> {
  const isOver = step.status !== "running";
  const finishedAt: RawBuilder<Date> | null = isOver ? sql<Date>`clock_timestamp()` : null;
  const { numUpdatedRows } = await tx
    .updateTable("job_step")
    .set({
      status: step.status,
      finished_at: finishedAt,
      message: sql<string | null>`coalesce(${keptStepText(step.message ?? null)}::text, message)`,
      external_ref: sql<string | null>`coalesce(${step.external_ref ?? null}::text, external_ref)`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("job_id", "=", job.id)
    .where("epoch", "=", job.epoch)
    .where("name", "=", step.name)
    .where("status", "=", "running")
    .executeTakeFirst();
  if (numUpdatedRows > 0n) return;
  await endObservation(tx, job);
  if (!(await hasRoomForStep(tx, job))) return;
  await tx
    .insertInto("job_step")
    .values({
      job_id: job.id,
      organisation_id: job.organisation_id,
      epoch: job.epoch,
      seq: report.seq,
      attempt: job.attempt,
      phase: job.phase ?? "observe",
      name: step.name,
      status: step.status,
      message: keptStepText(step.message ?? null),
      external_ref: step.external_ref ?? null,
      finished_at: finishedAt,
    })
    .execute();
}

/**
 * Counted in the job's row, which is locked, so that no rows are read. One statement for each step that
 * begins.
 */
async function hasRoomForStep(tx: Tx, job: JobRow): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("job")
    .set({ step_count: sql<number>`step_count + 1` })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .where("step_count", "<", maxStepsOfJob)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * A program observes before it plans and after it has acted; whatever it does next, that observation has
 * ended.
 */
async function endObservation(tx: Tx, job: JobRow): Promise<void> {
  await tx
    .updateTable("job_step")
    .set({ status: "succeeded", finished_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", job.organisation_id)
    .where("job_id", "=", job.id)
    .where("epoch", "=", job.epoch)
    .where("status", "=", "running")
    .where("name", "in", ["observe", "verify"])
    .execute();
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
