import type { Schemas } from "@kule/contract/schemas";
import { type RawBuilder, sql } from "kysely";
import { slugsOfRegions } from "../../platform/alternatives.ts";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { labelledRows } from "../../platform/labelled.ts";
import { fetchPage, type Paging } from "../../platform/pagination.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { type Window, windowOf } from "./filters.ts";
import type { SummaryRow } from "./summary-row.ts";
import { summedByResource, summedSegments } from "./summed-segments.ts";
import { type TotalsBy, totals } from "./totals.ts";

/**
 * The usage in the window, by group. Every segment counts with the part of it that is inside, to the
 * microsecond.
 */
export async function summariseUsage(request: ApiRequest<"summariseUsage">): Promise<Reply> {
  const { db, query } = request;
  const by = groupsOf(query.group_by ?? "resource");
  const window = await windowOf(db, query);
  const paging: Paging = {
    list: `usage-summary ${query.group_by ?? "resource"}`,
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [{ column: "summary.position", kind: "text" }],
  };
  const groups = await groupsIn(request, by, window, paging);
  const page = await fetchPage(db.selectFrom(groups.as("summary")).selectAll(), paging);
  const answer: Schemas["UsageSummary"] = {
    group_by: query.group_by ?? "resource",
    from: iso(window.from),
    to: iso(window.to),
    items: page.rows.map(viewItem),
    next_cursor: page.nextCursor,
  };
  return reply(200, answer);
}

async function groupsIn(
  { db, query, organisationId }: ApiRequest<"summariseUsage">,
  by: TotalsBy | "resource",
  window: Window,
  paging: Paging,
): Promise<RawBuilder<SummaryRow>> {
  const { resource, region, label_selector } = query;
  const slices = slicesOf(by, window);
  const labelled = await labelledRows(db, "usage_segment", organisationId, label_selector);
  const filters = { resource, region, label_selector, labelled };
  const segments = { organisationId, window, filters, slices };
  // A resource has few segments, and its own index; so have those with labels that few have.
  if (by === "resource" && resource === undefined && labelled === null)
    return summedByResource(db, segments, region === undefined ? await slugsOfRegions(db) : [region], paging);
  if (by !== "resource" && resource === undefined && label_selector === undefined)
    return totals(organisationId, by, slices, region);
  return summedSegments(segments, groupOfSegment(by), by === "resource");
}

function viewItem({ group_key, ...row }: SummaryRow): Schemas["UsageSummaryItem"] {
  return {
    group: group_key,
    name: row.name,
    type: row.type,
    compute_seconds: row.compute_seconds,
    vcpu_seconds: row.vcpu_seconds,
    memory_mb_seconds: row.memory_mb_seconds,
    disk_seconds: row.disk_seconds,
    disk_gb_seconds: row.disk_gb_seconds,
    public_ip_seconds: row.public_ip_seconds,
  };
}

/** @throws Invalid for a key that is not supported */
function groupsOf(groupBy: string): TotalsBy | "resource" {
  if (groupBy === "resource" || groupBy === "package" || groupBy === "day") return groupBy;
  const label = /^label:(.+)$/.exec(groupBy)?.[1];
  if (label !== undefined) return { label };
  throw new Invalid([fieldError("group_by", "not_one_of", "is resource, package, day or label:<key>")]);
}

function groupOfSegment(by: TotalsBy | "resource"): RawBuilder<unknown> {
  // The servers that a load balancer or a cluster runs on are counted under it.
  if (by === "resource") return sql`usage_segment.counted_under`;
  if (by === "package") return sql`usage_segment.package`;
  return by === "day" ? sql`slice.group_key` : sql`usage_segment.labels ->> ${by.label}::text`;
}

/** The window in one piece, or cut at midnight UTC. */
function slicesOf(by: TotalsBy | "resource", { from, to }: Window): RawBuilder<unknown> {
  return by === "day"
    ? sql`(
        select to_char(day, 'YYYY-MM-DD') as group_key, greatest(day at time zone 'UTC', ${from}::timestamptz) as since,
               least((day + interval '1 day') at time zone 'UTC', ${to}::timestamptz) as until
          from generate_series(date_trunc('day', ${from}::timestamptz at time zone 'UTC'),
                               ${to}::timestamptz at time zone 'UTC', interval '1 day') day
         where day at time zone 'UTC' < ${to}::timestamptz)`
    : sql`(select null::text as group_key, ${from}::timestamptz as since, ${to}::timestamptz as until)`;
}

const iso = (time: string) => new Date(time).toISOString();
