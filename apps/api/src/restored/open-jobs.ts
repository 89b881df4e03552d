import { jobErrorText } from "@kule/rules/jobs/region-texts";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../platform/database.ts";
import { handlerOf, type JobHandlers } from "../platform/job-handler.ts";
import { type JobError, type JobRow, noteJobEnd } from "../platform/jobs.ts";
import type { Settings } from "../platform/settings.ts";
import { endsByRestore } from "./what-becomes-of-jobs.ts";

const why = "a restore is of all organisations";

/**
 * Takes the open jobs of the backup from those who held them, and ends those that could do harm when they are done again.
 * What the others do is decided anew when they are claimed, under an epoch that nobody holds.
 */
export async function resumeOpenJobs(
  tx: Tx,
  handlers: JobHandlers,
  settings: Settings,
): Promise<{ readonly ended: number; readonly kept: number }> {
  const open = await systemQuery(tx, why)
    .selectFrom("job")
    .selectAll()
    .where("status", "in", ["queued", "running"])
    .orderBy("id")
    .forUpdate()
    .execute();
  const waiting = new Set(open.filter(({ status }) => status === "queued").map((job) => job.resource_id));
  let ended = 0;
  for (const job of open) {
    // A resource has one job that waits: it takes the place of the one that ran.
    const isReplaced = job.status === "running" && waiting.has(job.resource_id);
    if (endsByRestore(job.kind) || isReplaced) {
      await endJob(tx, job, handlers, settings);
      ended += 1;
    } else if (job.status === "running") await queueAgain(tx, job);
  }
  return { ended, kept: open.length - ended };
}

async function endJob(tx: Tx, job: JobRow, handlers: JobHandlers, settings: Settings): Promise<void> {
  const handler = handlerOf(handlers, job);
  await handler.lockResource(tx, job);
  const message = jobErrorText("restored");
  const error: JobError = { code: "restored", message, step: null, retryable: false };
  const [ended] = await tx
    .updateTable("job")
    .set({
      status: "cancelled",
      lease_until: null,
      finished_at: sql<Date>`clock_timestamp()`,
      error: JSON.stringify(error),
      // What it has destroyed by the backup it may have made anew since: then a rebuild that is over must not be the only
      // thing that is offered for its server.
      irreversible: false,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .returningAll()
    .execute();
  if (ended === undefined) throw new Error(`job ${job.id} is gone`);
  await closeSteps(tx, job);
  await sql`select kule_queue_finish(${job.id}, ${job.epoch})`.execute(tx);
  noteJobEnd(tx, { ...job, agent_token_id: null }, "cancelled", "restored");
  await handler.settle(tx, ended, { status: "cancelled", power: null, code: "restored", message }, settings);
}

async function closeSteps(tx: Tx, job: JobRow): Promise<void> {
  await tx
    .updateTable("job_step")
    .set({
      status: "failed",
      message: sql<string>`coalesce(message, 'interrupted')`,
      finished_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("job_id", "=", job.id)
    .where("status", "=", "running")
    .execute();
}

async function queueAgain(tx: Tx, job: JobRow): Promise<void> {
  await tx
    .updateTable("job")
    .set({
      status: "queued",
      lease_until: null,
      claim_id: null,
      attempt: 0,
      run_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .execute();
  await sql`select kule_queue_release(${job.id}, ${job.epoch})`.execute(tx);
}
