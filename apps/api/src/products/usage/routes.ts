import type { Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import type { Selectable } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { operation } from "../../platform/operation.ts";
import { fetchPage } from "../../platform/pagination.ts";
import { type Reply, reply } from "../../platform/reply.ts";

export function mountUsage(api: Api): void {
  operation(api, "listUsage", { handle: listUsage });
}

async function listUsage({ db, organisationId, query }: ApiRequest<"listUsage">): Promise<Reply> {
  let rows = db.selectFrom("usage_event").selectAll().where("organisation_id", "=", organisationId);
  if (query.resource !== undefined) rows = rows.where("resource_id", "=", query.resource);
  if (query.from !== undefined) rows = rows.where("at", ">=", timeOf("from", query.from));
  if (query.to !== undefined) rows = rows.where("at", "<", timeOf("to", query.to));
  const page = await fetchPage(rows, {
    list: "usage",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [{ column: "usage_event.seq", kind: "integer" }],
  });
  return reply(200, { items: page.rows.map(viewUsage), next_cursor: page.nextCursor });
}

/** The contract's format lets leap seconds pass, which are no time for Date. */
function timeOf(parameter: string, text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new Invalid([fieldError(parameter, "invalid_format", "is not a time that can be compared")]);
  return time;
}

function viewUsage(row: Selectable<DB["usage_event"]>): Schemas["UsageEvent"] {
  return {
    id: row.id,
    seq: Number(row.seq),
    kind: row.kind as Schemas["UsageKind"],
    at: row.at.toISOString(),
    region: row.region,
    resource: {
      type: row.resource_type as Schemas["UsageResource"]["type"],
      id: row.resource_id,
      name: row.resource_name,
    },
    package: row.package,
    quantity: row.quantity as Schemas["UsageEvent"]["quantity"],
    labels: row.labels as Record<string, string>,
    job_id: row.job_id,
    source: row.source as Schemas["UsageEvent"]["source"],
  };
}
