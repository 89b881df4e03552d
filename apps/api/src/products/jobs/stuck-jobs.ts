import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import { type RawBuilder, sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { fetchPage, firstRowsAfter, type Page, type Paging } from "../../platform/pagination.ts";
import { resourceNameOf } from "./resource-name.ts";
import { viewJobError } from "./view.ts";

type StuckRow = {
  readonly id: string;
  readonly reason: Schemas["StuckReason"];
  readonly since: Date;
  readonly kind: Schemas["JobKind"];
  readonly action: string | null;
  readonly status: Schemas["JobStatus"];
  readonly region: string | null;
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

const resourceName = resourceNameOf("job");

const reasonNames = ["silent", "repeating", "not_claimed", "slow", "failed"] as const;
const isSilent = sql<boolean>`job.lease_until < now() - ${silentAfter}`;
const isRepeating = sql<boolean>`job.attempt >= ${repeatingFrom}`;

/** The jobs of each reason, and since when it is true of them. A job has the first that applies. */
const reasons: {
  readonly [reason in Schemas["StuckReason"]]: {
    readonly since: "lease_until" | "created_at" | "run_at" | "started_at" | "finished_at";
    readonly statuses: readonly ("queued" | "running" | "failed")[];
    readonly applies: RawBuilder<boolean>;
  };
} = {
  silent: { since: "lease_until", statuses: ["running"], applies: isSilent },
  repeating: {
    since: "created_at",
    statuses: ["queued", "running"],
    applies: sql`${isRepeating} and ${isSilent} is not true`,
  },
  not_claimed: {
    since: "run_at",
    statuses: ["queued"],
    applies: sql`job.run_at < now() - ${claimedWithin} and not ${isRepeating} and not exists (
      select 1 from job other
       where other.organisation_id = job.organisation_id and other.resource_id = job.resource_id
         and other.status = 'running')`,
  },
  slow: {
    since: "started_at",
    statuses: ["running"],
    applies: sql`job.started_at < now() - ${slowAfter} and not ${isRepeating} and not ${isSilent}`,
  },
  failed: {
    since: "finished_at",
    statuses: ["failed"],
    applies: sql`job.finished_at > now() - ${failedWithin} and ${resourceName} is not null and not exists (
      select 1 from job later
       where later.organisation_id = job.organisation_id and later.resource_id = job.resource_id
         and later.created_at > job.created_at)`,
  },
};

/** Jobs of all organisations that do not proceed without help, the longest waiting first. */
export async function listStuckJobs(
  db: Database,
  query: RequestQuery<"listStuckJobs">,
): Promise<Page<StuckRow>> {
  const all = systemQuery(db, "operators see what needs somebody to look");
  const paging: Paging = {
    list: "stuck_jobs",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [
      { column: "stuck.since", kind: "time" },
      { column: "stuck.id", kind: "text" },
    ],
  };
  // One part for each reason and status, so that each finds its first rows by the index that has only them.
  const parts = [...new Set(query.reason ?? reasonNames)].flatMap((reason) => {
    const { since, statuses, applies } = reasons[reason];
    return statuses.map((status) => {
      let part = all
        .selectFrom("job")
        .select(["job.id", sql`${sql.lit(reason)}::text`.as("reason"), `job.${since} as since`])
        .where("job.status", "=", sql.lit(status))
        .where(applies);
      if (query.region !== undefined) part = part.where("job.region", "=", query.region);
      return firstRowsAfter(part, paging, [`job.${since}`, "job.id"]);
    });
  });
  const stuck = sql<Pick<StuckRow, "id" | "reason" | "since">>`(${sql.join(parts, sql` union all `)})`;
  const rows = all
    .selectFrom(stuck.as("stuck"))
    .innerJoin("job", "job.id", "stuck.id")
    .innerJoin("organisation", "organisation.id", "job.organisation_id")
    .selectAll("job")
    .select([
      "stuck.reason",
      "stuck.since",
      resourceName.as("resource_name"),
      "organisation.name as organisation_name",
      sql<string | null>`job.parameters ->> 'action'`.as("action"),
    ]);
  return fetchPage(rows as never, paging);
}

/** More of one reason are not counted. */
export const mostCountedStuck = 1_000;

/** How many jobs of all organisations are stuck for each reason. */
export async function countStuckJobs(
  db: Database,
): Promise<{ readonly reason: Schemas["StuckReason"]; readonly jobs: number }[]> {
  const all = systemQuery(db, "operators see what needs somebody to look");
  const parts = reasonNames.flatMap((reason) => {
    const { statuses, applies } = reasons[reason];
    return statuses.map((status) => {
      const found = all
        .selectFrom("job")
        .select("job.id")
        .where("job.status", "=", sql.lit(status))
        .where(applies)
        .limit(mostCountedStuck);
      return sql`select ${sql.lit(reason)}::text as reason, count(*)::integer as jobs from (${found}) found`;
    });
  });
  const { rows } = await sql<{ reason: Schemas["StuckReason"]; jobs: number }>`
    select reason, least(sum(jobs), ${mostCountedStuck})::integer as jobs
      from (${sql.join(parts, sql` union all `)}) counted group by reason`.execute(all);
  return rows;
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
