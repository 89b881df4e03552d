import type { JobStatus } from "@kule/rules/jobs/actions";
import { sql } from "kysely";
import { type EndContext, endAttempt, StaleLease } from "../agent/end-attempt.ts";
import { systemQuery, type Tx } from "../platform/database.ts";
import type { Deps } from "../platform/deps.ts";
import { handlerOf } from "../platform/job-handler.ts";
import type { JobRow } from "../platform/jobs.ts";
import { inTransaction } from "../platform/transaction.ts";

const reason = "the reaper looks after the jobs of all";

/**
 * Releases the jobs whose lease expired and that no agent took over: customers see them waiting instead of
 * running, and one without attempts left ends. A region with a working agent takes them over itself, sooner.
 *
 * @returns how many leases were reaped
 * @throws AggregateError of those that could not be, after all others
 */
export async function expireLeases(
  { db, settings, metrics }: Pick<Deps, "db" | "settings" | "metrics">,
  handlers: EndContext["handlers"],
): Promise<number> {
  const expired = await systemQuery(db, reason)
    .selectFrom("job")
    .selectAll()
    .where("status", "=", "running")
    .where("lease_until", "<", sql<Date>`clock_timestamp()`)
    .orderBy("lease_until")
    .limit(1000)
    .execute();
  let reaped = 0;
  const failures: unknown[] = [];
  for (const job of expired) {
    const status = await inTransaction(db, (tx) => reap(tx, job, { handlers, settings })).catch(
      (error: unknown) => {
        // One job that cannot be ended must not delay the others; its error is thrown when they are done.
        if (!(error instanceof StaleLease)) failures.push(error);
        return null;
      },
    );
    if (status === null) continue;
    metrics.jobs.leaseExpired(job);
    metrics.jobs.attemptEnded(job, status);
    reaped += 1;
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} leases cannot be reaped`);
  return reaped;
}

/** The job's status now; null when its lease is not expired any more. */
async function reap(tx: Tx, seen: JobRow, context: EndContext): Promise<JobStatus | null> {
  await handlerOf(context.handlers, seen).lockResource(tx, seen);
  const job = await tx
    .selectFrom("job")
    .selectAll()
    .where("organisation_id", "=", seen.organisation_id)
    .where("id", "=", seen.id)
    .where("epoch", "=", seen.epoch)
    .where("status", "=", "running")
    .where("lease_until", "<", sql<Date>`clock_timestamp()`)
    .forUpdate()
    .executeTakeFirst();
  if (job === undefined) return null;
  return endAttempt(
    tx,
    job,
    {
      status: "retry",
      error: {
        code: job.region === null ? "worker_lost" : "lease_expired",
        message: `${job.region === null ? "The control plane's worker" : "The region's agent"} stopped reporting; the job is tried again`,
        step: null,
        retryable: true,
      },
      internal: null,
      power: null,
      vmidUnusable: null,
      result: null,
    },
    context,
  );
}
