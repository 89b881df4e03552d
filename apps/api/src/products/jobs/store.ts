import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type Selectable, type SelectQueryBuilder, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";

export type StepRow = Selectable<DB["job_step"]>;

/** A job with what its view needs to know of its surroundings. */
export type JobDetails = JobRow & {
  /** The job of the same resource that runs first. */
  readonly queued_behind: string | null;
  readonly server_status: string | null;
  readonly server_was_created: boolean | null;
  readonly has_open_job: boolean;
  readonly is_newest_of_kind: boolean;
};

const queuedBehind = sql<string | null>`(
  select other.id from job other
   where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
     and other.status = 'running' and job.status = 'queued')`;

const hasOpenJob = sql<boolean>`exists (
  select 1 from job other
   where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
     and other.status in ('queued', 'running') and other.id <> job.id)`;

const isNewestOfKind = sql<boolean>`not exists (
  select 1 from job other
   where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
     and other.kind = job.kind and other.created_at > job.created_at)`;

function jobDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("job")
    .leftJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "job.organisation_id")
        .onRef("server.id", "=", "job.resource_id"),
    )
    .selectAll("job")
    .select([
      queuedBehind.as("queued_behind"),
      "server.status as server_status",
      sql<boolean | null>`server.observed_generation > 0`.as("server_was_created"),
      hasOpenJob.as("has_open_job"),
      isNewestOfKind.as("is_newest_of_kind"),
    ])
    .where("job.organisation_id", "=", organisationId);
}

/** The job, or null when there is none such for the organisation. */
export async function findJob(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<JobDetails | null> {
  const row = await jobDetails(db, organisationId).where("job.id", "=", id).executeTakeFirst();
  return row ?? null;
}

/** The job's steps, in the order they began. */
export function findSteps(db: Database | Tx, organisationId: string, jobId: string): Promise<StepRow[]> {
  return db
    .selectFrom("job_step")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("job_id", "=", jobId)
    .orderBy("epoch")
    .orderBy("seq")
    .execute();
}

export function listJobs(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listJobs">,
): Promise<Page<JobDetails>> {
  let rows: SelectQueryBuilder<DB, "job", JobDetails> = jobDetails(db, organisationId) as never;
  if (query.resource !== undefined) rows = rows.where("job.resource_id", "=", query.resource);
  if (query.status !== undefined) rows = rows.where("job.status", "in", query.status);
  if (query.kind !== undefined) rows = rows.where("job.kind", "in", query.kind);
  if (query.region !== undefined) rows = rows.where("job.region", "=", query.region);
  return fetchPage(rows, newestFirst("jobs", query, "job"));
}

/** The job's row under its lock. Its resource must be locked first. */
export function lockJob(tx: Tx, organisationId: string, id: string): Promise<JobRow> {
  return tx
    .selectFrom("job")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}
