import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import { ofRegionAnd } from "../../platform/alternatives.ts";
import type { Database } from "../../platform/database.ts";
import { labelledRows } from "../../platform/labelled.ts";
import { fetchPage, type Paging } from "../../platform/pagination.ts";
import { timeOf } from "../../platform/time-parameter.ts";
import { type UsageFilters, usageCondition } from "./filters.ts";

const EVENT_KINDS: { readonly [kind in Schemas["UsageKind"]]: true } = {
  "server.started": true,
  "server.stopped": true,
  "server.resized": true,
  "server.purge_scheduled": true,
  "server.purged": true,
  "disk.allocated": true,
  "disk.released": true,
  "public_ip.allocated": true,
  "public_ip.released": true,
  "load_balancer.traffic": true,
  "usage.corrected": true,
};
const SEGMENT_KINDS: { readonly [kind in Schemas["UsageSegmentKind"]]: true } = {
  compute: true,
  disk: true,
  public_ip: true,
};

type ListQuery = UsageFilters & {
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

/** Events of the window, in the order in which they were written. */
export async function listEvents(db: Database, organisationId: string, query: ListQuery) {
  const labelled = await labelledRows(db, "usage_event", organisationId, query.label_selector);
  let rows = db
    .selectFrom("usage_event")
    .where("usage_event.organisation_id", "=", organisationId)
    .where(usageCondition("usage_event", { ...query, labelled }));
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
  const alternatives = await ofRegionAnd(
    db,
    "usage_event.kind",
    { region: query.region, values: query.kind },
    Object.keys(EVENT_KINDS),
  );
  return fetchPage(rows.selectAll(), paging, alternatives === null ? undefined : { rows, alternatives });
}

/** Segments that have something of the window in them, by their beginning. */
export async function listSegments(db: Database, organisationId: string, query: ListQuery) {
  const labelled = await labelledRows(db, "usage_segment", organisationId, query.label_selector);
  let rows = db
    .selectFrom("usage_segment")
    .where("usage_segment.organisation_id", "=", organisationId)
    .where(usageCondition("usage_segment", { ...query, labelled }));
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
  const alternatives = await ofRegionAnd(
    db,
    "usage_segment.kind",
    { region: query.region, values: query.kind },
    Object.keys(SEGMENT_KINDS),
  );
  return fetchPage(rows.selectAll(), paging, alternatives === null ? undefined : { rows, alternatives });
}
