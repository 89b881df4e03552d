import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { leaveTheDisk, writeTheFilter } from "@kule/rules/jobs/actions";
import type { ServerOwner } from "@kule/rules/servers/owner";
import { type Selectable, type SelectQueryBuilder, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { fixedRead } from "../../platform/fixed-read.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { ownerOf } from "../../platform/server-owner.ts";
import { jobAlternatives } from "./alternatives.ts";
import { resourceNameOf } from "./resource-name.ts";

/** A job with what its view needs of related rows. */
export type JobDetails = JobRow & {
  /** The job of the same resource that runs first. */
  readonly queued_behind: string | null;
  readonly resource_name: string | null;
  readonly server_status: string | null;
  readonly server_was_created: boolean | null;
  readonly server_is_locked: boolean | null;
  /** What the server belongs to. */
  readonly managed_by: ServerOwner | null;
  /** Of a network, a domain or a load balancer; for servers there is the status. */
  readonly resource_is_there: boolean;
  readonly has_open_job: boolean;
  readonly is_overtaken: boolean;
};

export type JobWithSteps = JobDetails & { readonly steps: readonly StepRow[] };

const queuedBehind = sql<string | null>`(
  select other.id from job other
   where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
     and other.status = 'running' and job.status = 'queued')`;

// Both are queried only for a job that could be retried.
const hasOpenJob = sql<boolean>`case when job.status in ('failed', 'cancelled') then exists (
  select 1 from job other
   where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
     and other.status in ('queued', 'running') and other.id <> job.id
     and not (other.status = 'queued' and other.kind = 'FirewallApply'
              and job.kind = any (${[...writeTheFilter]}::text[]))) else true end`;

/**
 * By a later one of its kind. A rebuild also by any job that used the server's disk after it: its password is
 * deleted then, and a disk in use must not be destroyed by an outdated button. A failed power action used
 * none.
 */
const isOvertaken = sql<boolean>`case when job.status in ('failed', 'cancelled') then exists (
  select 1 from job other
   where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
     and other.created_at > job.created_at
     and (other.kind = job.kind
       or job.kind = 'ServerRebuild' and other.kind <> all (${[...leaveTheDisk]}::text[])
          and not (other.kind = 'ServerPower' and other.status <> 'succeeded'))) else true end`;

/** A rebuild of the server has begun to destroy its disk and broken off, and may still be tried again. */
export async function isBrokenByRebuild(
  tx: Tx,
  server: { readonly id: string; readonly organisation_id: string },
): Promise<boolean> {
  const rebuild = await tx
    .selectFrom("job")
    .select(isOvertaken.as("is_overtaken"))
    .where("organisation_id", "=", server.organisation_id)
    .where("resource_id", "=", server.id)
    .where("kind", "=", "ServerRebuild")
    .where("status", "in", ["failed", "cancelled"])
    .where("irreversible", "=", true)
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return rebuild !== undefined && !rebuild.is_overtaken;
}

const isThere = sql<boolean>`case job.resource_type
  when 'network' then exists (
    select 1 from network n where n.organisation_id = job.organisation_id and n.id = job.resource_id)
  when 'domain' then exists (
    select 1 from domain d where d.organisation_id = job.organisation_id and d.id = job.resource_id)
  when 'load_balancer' then exists (
    select 1 from load_balancer b
     where b.organisation_id = job.organisation_id and b.id = job.resource_id and not b.is_deleting)
  else false end`;

/** Times are texts in JSON. */
export type StepRow = Omit<Selectable<DB["job_step"]>, "started_at" | "finished_at"> & {
  readonly started_at: string;
  readonly finished_at: string | null;
};

/** In the order they began. */
const steps = sql<StepRow[]>`coalesce((
  select json_agg(job_step.* order by job_step.epoch, job_step.seq) from job_step
   where job_step.organisation_id = job.organisation_id and job_step.job_id = job.id), '[]'::json)`;

function jobsOf(db: Database | Tx, organisationId: string) {
  return db.selectFrom("job").where("job.organisation_id", "=", organisationId);
}

function jobDetails(db: Database | Tx, organisationId: string) {
  return jobsOf(db, organisationId)
    .leftJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "job.organisation_id")
        .onRef("server.id", "=", "job.resource_id"),
    )
    .selectAll("job")
    .select([
      queuedBehind.as("queued_behind"),
      resourceNameOf("job").as("resource_name"),
      "server.status as server_status",
      sql<boolean | null>`server.observed_generation > 0`.as("server_was_created"),
      sql<boolean | null>`server.locked_at is not null`.as("server_is_locked"),
      ownerOf("server").as("managed_by"),
      isThere.as("resource_is_there"),
      hasOpenJob.as("has_open_job"),
      isOvertaken.as("is_overtaken"),
    ]);
}

/** The job with its steps, or null when there is none such for the organisation. */
export async function findJob(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<JobWithSteps | null> {
  const [row] = await readJob(db, { organisationId, id });
  return row ?? null;
}

const readJob = fixedRead(["organisationId", "id"], (db, { organisationId, id }) =>
  jobDetails(db, organisationId).select(steps.as("steps")).where("job.id", "=", id),
);

export async function listJobs(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listJobs">,
): Promise<Page<JobDetails>> {
  const filtered = <Row>(rows: SelectQueryBuilder<DB, "job", Row>) => {
    let wanted = rows;
    if (query.resource !== undefined) wanted = wanted.where("job.resource_id", "=", query.resource);
    if (query.status !== undefined) wanted = wanted.where("job.status", "in", query.status);
    if (query.kind !== undefined) wanted = wanted.where("job.kind", "in", query.kind);
    if (query.region !== undefined) wanted = wanted.where("job.region", "=", query.region);
    return wanted;
  };
  const rows: SelectQueryBuilder<DB, "job", JobDetails> = filtered(jobDetails(db, organisationId) as never);
  const alternatives = await jobAlternatives(db, query);
  const bare = filtered(jobsOf(db, organisationId));
  return fetchPage(
    rows,
    newestFirst("jobs", query, "job"),
    alternatives === null ? undefined : { rows: bare, alternatives },
  );
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
