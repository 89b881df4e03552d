import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { resourceNameOf } from "./resource-name.ts";
import { viewJobError } from "./view.ts";

type OperatorJobRow = JobRow & {
  readonly organisation_name: string;
  readonly resource_name: string | null;
};

/** Jobs of all organisations, newest first. */
export function listOperatorJobs(
  db: Database,
  query: RequestQuery<"listOperatorJobs">,
): Promise<Page<OperatorJobRow>> {
  let rows = systemQuery(db, "operators see the jobs of all organisations")
    .selectFrom("job")
    .innerJoin("organisation", "organisation.id", "job.organisation_id")
    .selectAll("job")
    .select([
      "organisation.name as organisation_name",
      sql<string | null>`${resourceNameOf("job")}`.as("resource_name"),
    ]);
  if (query.region !== undefined) rows = rows.where("job.region", "=", query.region);
  if (query.status !== undefined) rows = rows.where("job.status", "in", query.status);
  if (query.kind !== undefined) rows = rows.where("job.kind", "in", query.kind);
  return fetchPage(rows, newestFirst("operator_jobs", query, "job"));
}

/** A job of any organisation as the contract shows it to operators. */
export function viewOperatorJob(row: OperatorJobRow): Schemas["OperatorJob"] {
  return {
    id: row.id,
    kind: row.kind as Schemas["JobKind"],
    action: (row.parameters as { action?: string }).action ?? null,
    status: row.status as Schemas["JobStatus"],
    progress: row.progress,
    region: row.region,
    organisation: { id: row.organisation_id, name: row.organisation_name },
    resource: {
      type: row.resource_type as Schemas["ResourceRef"]["type"],
      id: row.resource_id,
      name: row.resource_name,
    },
    phase: row.phase as Schemas["JobPhase"] | null,
    attempt: row.attempt,
    max_attempts: row.max_attempts,
    agent_name: row.agent_name,
    error: viewJobError(row.error as Schemas["JobError"] | null, { isOperator: true }),
    requested_by: row.requested_by as Schemas["Actor"],
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
