import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { fetchPage, type Page } from "../../platform/pagination.ts";
import { resourceNameOf } from "./resource-name.ts";
import { viewJobError } from "./view.ts";

type StuckRow = {
  readonly id: string;
  readonly reason: Schemas["StuckReason"];
  readonly since: Date;
  readonly kind: Schemas["JobKind"];
  readonly action: string | null;
  readonly status: Schemas["JobStatus"];
  readonly region: string;
  readonly organisation_id: string;
  readonly organisation_name: string;
  readonly resource_type: Schemas["ResourceRef"]["type"];
  readonly resource_id: string;
  readonly resource_name: string | null;
  readonly phase: Schemas["JobPhase"] | null;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly run_at: Date;
  readonly agent_name: string | null;
  readonly error: Schemas["JobError"] | null;
  readonly created_at: Date;
};

/** The worker releases an expired lease within a minute; an agent claims the job sooner. */
const silentAfter = sql.raw("interval '1 minute'");
const claimedWithin = sql.raw("interval '15 minutes'");
const slowAfter = sql.raw("interval '30 minutes'");
/** Three attempts are a region that restarts; a job with a fourth will not pass without help. */
const repeatingFrom = sql.raw("4");
/** Older ones have been lived with. */
const failedWithin = sql.raw("interval '30 days'");

const resourceName = resourceNameOf("j");

// Two halves, so that each finds its rows by the index that has only them.
const stuck = sql<StuckRow>`(
  select j.*, ${resourceName} as resource_name,
         case when j.lease_until < now() - ${silentAfter} then 'silent'
              when j.attempt >= ${repeatingFrom} then 'repeating'
              when j.status = 'queued' then 'not_claimed'
              else 'slow' end as reason,
         case when j.lease_until < now() - ${silentAfter} then j.lease_until
              when j.attempt >= ${repeatingFrom} then j.created_at
              when j.status = 'queued' then j.run_at
              else j.started_at end as since
    from job j
   where j.status in ('queued', 'running')
     and (j.lease_until < now() - ${silentAfter}
       or j.attempt >= ${repeatingFrom}
       or j.status = 'queued' and j.run_at < now() - ${claimedWithin} and not exists (
         select 1 from job other
          where other.organisation_id = j.organisation_id and other.resource_id = j.resource_id
            and other.status = 'running')
       or j.status = 'running' and j.started_at < now() - ${slowAfter})
  union all
  select j.*, ${resourceName} as resource_name, 'failed' as reason, j.finished_at as since
    from job j
   where j.status = 'failed' and j.finished_at > now() - ${failedWithin}
     and ${resourceName} is not null
     and not exists (
       select 1 from job later
        where later.organisation_id = j.organisation_id and later.resource_id = j.resource_id
          and later.created_at > j.created_at)
)`;

/** Jobs of all organisations that do not proceed without help, the longest waiting first. */
export async function listStuckJobs(
  db: Database,
  query: RequestQuery<"listStuckJobs">,
): Promise<Page<StuckRow>> {
  let rows = systemQuery(db, "operators see what needs somebody to look")
    .selectFrom(stuck.as("stuck"))
    .innerJoin("organisation", "organisation.id", "stuck.organisation_id")
    .selectAll("stuck")
    .select([
      "organisation.name as organisation_name",
      sql<string | null>`stuck.parameters ->> 'action'`.as("action"),
    ]);
  if (query.region !== undefined) rows = rows.where("stuck.region", "=", query.region);
  if (query.reason !== undefined) rows = rows.where("stuck.reason", "in", query.reason);
  return fetchPage(rows, {
    list: "stuck_jobs",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [
      { column: "stuck.since", kind: "time" },
      { column: "stuck.id", kind: "text" },
    ],
  });
}

/** A stuck job as the contract shows it. */
export function viewStuckJob(row: StuckRow): Schemas["StuckJob"] {
  return {
    id: row.id,
    reason: row.reason,
    since: row.since.toISOString(),
    kind: row.kind,
    action: row.action,
    status: row.status,
    region: row.region,
    organisation: { id: row.organisation_id, name: row.organisation_name },
    resource: { type: row.resource_type, id: row.resource_id, name: row.resource_name },
    phase: row.phase,
    attempt: row.attempt,
    max_attempts: row.max_attempts,
    next_attempt_at: row.status === "queued" && row.attempt > 0 ? row.run_at.toISOString() : null,
    agent_name: row.agent_name,
    error: viewJobError(row.error, { isOperator: true }),
    created_at: row.created_at.toISOString(),
  };
}
