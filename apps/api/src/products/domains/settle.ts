import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobEnd, JobHandler } from "../../platform/job-handler.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import { applyAgain, bySystem } from "./apply.ts";
import { renderDomainPayload } from "./payload.ts";
import { type DomainRow, deleteDomainRow, keepAsLost, lockDomain, markPending } from "./store.ts";

/** The job handler for jobs of domains. */
export function domainJobs(): JobHandler {
  return {
    kinds: ["DomainApply"],
    lockResource: async (tx, job) => {
      await lockDomain(tx, job.organisation_id, job.resource_id);
    },
    renderPayload: renderDomainPayload,
    settle: settleDomainJob,
    preempt: () => Promise.resolve(),
    // The job that had failed is queued again.
    retried: (tx, job) => markPending(tx, job.organisation_id, job.resource_id),
    replaceVmid: () => Promise.resolve(false),
  };
}

/**
 * Records what the end of a job means for its domain. Only the report of what the provider has decides which generation is
 * served, and whether a domain that is being deleted is gone.
 */
async function settleDomainJob(tx: Tx, job: JobRow, end: JobEnd): Promise<void> {
  const domain = await lockDomain(tx, job.organisation_id, job.resource_id);
  if (domain === null) throw new Error(`job ${job.id} has no domain to settle`);
  const { queued } = await lockOpenJobs(tx, domain.organisation_id, domain.id);
  const applied = end.status === "succeeded" ? (end.domain ?? null) : null;
  if (applied === null) {
    // The job that is queued behind it applies all of it.
    if (queued === null) await fail(tx, domain, job, end);
    return;
  }
  // Without a serial the provider has no zone of the name: that was wanted only by a job of the removal.
  if (applied.serial === null && domain.status === "deleting") {
    if (domain.ends_lost) await keepAsLost(tx, domain);
    else await deleteDomainRow(tx, domain.organisation_id, domain.id);
    return;
  }
  const isNewest = applied.generation >= domain.generation;
  await observe(tx, domain, {
    observed_generation: Math.max(
      domain.observed_generation,
      Math.min(applied.generation, domain.generation),
    ),
    serial: applied.serial === null ? null : String(applied.serial),
    ds_records: [...applied.ds],
    ...(isNewest ? { status_code: null, status_message: null, status_job_id: null } : {}),
    ...(isNewest && queued === null && domain.status !== "pending_deletion" && domain.status !== "deleting"
      ? { status: "active" }
      : {}),
  });
  if (!isNewest && queued === null) await applyAgain(tx, domain, bySystem(`after ${job.id}`));
}

type Observation = Partial<
  Pick<
    DomainRow,
    | "status"
    | "observed_generation"
    | "serial"
    | "ds_records"
    | "status_code"
    | "status_message"
    | "status_job_id"
  >
>;

/** The job has compared the whole zone and replaced what differed: nothing of it is drift now. */
async function observe(tx: Tx, domain: DomainRow, changes: Observation): Promise<void> {
  await tx
    .updateTable("domain")
    .set({
      ...changes,
      drift: null,
      compared_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", domain.organisation_id)
    .where("id", "=", domain.id)
    .execute();
}

/** What is being deleted, or waits for it, stays so. */
async function fail(tx: Tx, domain: DomainRow, job: JobRow, end: JobEnd): Promise<void> {
  const isLeaving = domain.status === "deleting" || domain.status === "pending_deletion";
  await tx
    .updateTable("domain")
    .set({
      ...(isLeaving ? {} : { status: "error" }),
      status_code: "apply_failed",
      status_message: end.message,
      status_job_id: job.id,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", domain.organisation_id)
    .where("id", "=", domain.id)
    .execute();
}
