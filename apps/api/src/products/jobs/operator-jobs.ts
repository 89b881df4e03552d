import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type SelectQueryBuilder, sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { jobAlternatives } from "./alternatives.ts";
import { resourceNameOf } from "./resource-name.ts";
import { viewJobError } from "./view.ts";

type OperatorJobRow = JobRow & {
  readonly organisation_name: string;
  readonly resource_name: string | null;
};

/** Jobs of all organisations, newest first. */
export async function listOperatorJobs(
  db: Database,
  query: RequestQuery<"listOperatorJobs">,
): Promise<Page<OperatorJobRow>> {
  const all = systemQuery(db, "operators see the jobs of all organisations");
  const filtered = <Row>(jobs: SelectQueryBuilder<DB, "job", Row>) => {
    let wanted = jobs;
    if (query.region !== undefined) wanted = wanted.where("job.region", "=", query.region);
    if (query.status !== undefined) wanted = wanted.where("job.status", "in", query.status);
    if (query.kind !== undefined) wanted = wanted.where("job.kind", "in", query.kind);
    return wanted;
  };
  const details = all
    .selectFrom("job")
    .innerJoin("organisation", "organisation.id", "job.organisation_id")
    .selectAll("job")
    .select([
      "organisation.name as organisation_name",
      sql<string | null>`${resourceNameOf("job")}`.as("resource_name"),
    ]);
  const rows: SelectQueryBuilder<DB, "job", OperatorJobRow> = filtered(details as never);
  const alternatives = await jobAlternatives(all, query);
  return fetchPage(
    rows,
    newestFirst("operator_jobs", query, "job"),
    alternatives === null ? undefined : { rows: filtered(all.selectFrom("job")), alternatives },
  );
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
