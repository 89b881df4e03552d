import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";
import { fetchPage, type OneOf, type Paging } from "../../platform/pagination.ts";
import { timeOf } from "../../platform/time-parameter.ts";
import { type UsageFilters, usageCondition } from "./filters.ts";

type ListQuery = UsageFilters & {
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

/** Events of the window, in the order in which they were written. */
export function listEvents(db: Database, organisationId: string, query: ListQuery) {
  let rows = db
    .selectFrom("usage_event")
    .where("usage_event.organisation_id", "=", organisationId)
    .where(usageCondition("usage_event", query));
  if (query.from !== undefined) rows = rows.where("at", ">=", timeOf("from", query.from));
  if (query.to !== undefined) rows = rows.where("at", "<", timeOf("to", query.to));
  const paging: Paging = {
    list: "usage",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    // The organisation's number of the event is the end of the index by kind as well.
    keys: [{ column: "usage_event.seq", kind: "integer" }],
  };
  return fetchPage(rows.selectAll(), paging, ofKinds("usage_event", rows, query.kind));
}

/** Segments that have something of the window in them, by their beginning. */
export function listSegments(db: Database, organisationId: string, query: ListQuery) {
  let rows = db
    .selectFrom("usage_segment")
    .where("usage_segment.organisation_id", "=", organisationId)
    .where(usageCondition("usage_segment", query));
  if (query.from !== undefined) {
    const from = timeOf("from", query.from);
    rows = rows.where(sql<boolean>`(ended_at is null or ended_at > ${from})`);
  }
  if (query.to !== undefined) rows = rows.where("started_at", "<", timeOf("to", query.to));
  const paging: Paging = {
    list: "usage-segments",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [
      { column: "usage_segment.started_at", kind: "time" },
      { column: "usage_segment.id", kind: "text" },
    ],
  };
  return fetchPage(rows.selectAll(), paging, ofKinds("usage_segment", rows, query.kind));
}

function ofKinds(
  table: "usage_event" | "usage_segment",
  rows: OneOf["rows"],
  kinds: readonly string[] | undefined,
): OneOf | undefined {
  if (kinds === undefined) return undefined;
  return { rows, alternatives: kinds.map((kind) => ({ [`${table}.kind`]: kind })) };
}
