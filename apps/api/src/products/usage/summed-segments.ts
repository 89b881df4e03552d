import { type RawBuilder, sql } from "kysely";
import { type Database, plannedEachTime } from "../../platform/database.ts";
import { firstRowsAfter, type Paging } from "../../platform/pagination.ts";
import { type UsageFilters, usageCondition, type Window } from "./filters.ts";
import type { SummaryRow } from "./summary-row.ts";

/** More parts than this are one that has no index in the order of the resources. */
const MOST_PARTS = 200;

type Segments = {
  readonly organisationId: string;
  readonly window: Window;
  readonly filters: UsageFilters;
  /** A subquery of `group_key`, `since` and `until`: the window, cut where the groups are days. */
  readonly slices: RawBuilder<unknown>;
};

/**
 * The usage of the segments that pass the filters, by group, each with the part of it that is in the slice. Reads them all.
 *
 * @param group the group of a `usage_segment` in a `slice`
 */
export function summedSegments(
  { organisationId, filters, slices }: Segments,
  group: RawBuilder<unknown>,
  withName: boolean,
): RawBuilder<SummaryRow> {
  const parts = sql`
    select ${group} as group_key, ${countedOf(withName)} from usage_segment cross join ${slices} slice
     where usage_segment.organisation_id = ${organisationId} and ${usageCondition("usage_segment", filters)}
       and (ended_at is null or ended_at > slice.since) and started_at < slice.until and slice.since < slice.until`;
  // Rows without a group come first, and separate from the empty label. Resources are ordered as by summedByResource.
  return summed(parts, withName ? sql`group_key` : sql`coalesce('=' || group_key, '')`);
}

/**
 * The same by resource: only the segments of the resources on the page are read. Open segments and those of each month have an
 * index in the order of the resources, by region.
 *
 * @param regions all regions, or the one that is asked for
 * @param paging of the summary, whose only sort key is the resource
 */
export async function summedByResource(
  db: Database,
  segments: Segments,
  regions: readonly string[],
  paging: Paging,
): Promise<RawBuilder<SummaryRow>> {
  const { organisationId, window, filters } = segments;
  const months = monthsOf(window);
  if (regions.length * (months.length + 1) > MOST_PARTS)
    return summedSegments(segments, sql`usage_segment.counted_under`, true);
  const conditions = regions.flatMap((region) => {
    const inRegion = (when: RawBuilder<boolean>) => sql<boolean>`(
      usage_segment.region = ${region} and ${when} and started_at < ${window.to}::timestamptz
      and ${window.from}::timestamptz < ${window.to}::timestamptz
      and ${usageCondition("usage_segment", { ...filters, region: undefined })})`;
    return [
      inRegion(sql`ended_at is null`),
      ...months.map((month) =>
        inRegion(
          sql`ended_month = ${month}::date and ended_at is not null and ended_at > ${window.from}::timestamptz`,
        ),
      ),
    ];
  });
  // Each part ends with as many resources as the page has, and not with as many segments: a resource can have many.
  const found = conditions.map((condition) =>
    firstRowsAfter(
      db
        .selectFrom("usage_segment")
        .select("usage_segment.counted_under as resource")
        .distinct()
        .where("usage_segment.organisation_id", "=", organisationId)
        .where(condition),
      paging,
      ["usage_segment.counted_under"],
    ),
  );
  const { rows } = await sql<{ resource: string }>`
    select distinct resource from (${sql.join(found, sql` union all `)}) found order by resource
     limit ${paging.limit + 1}::integer ${sql.raw(plannedEachTime)}`.execute(db);
  const onPage = rows.map(({ resource }) => resource);
  const parts = conditions.map(
    (condition) => sql`
    select usage_segment.counted_under as group_key, ${countedOf(true, window)} from usage_segment
     where usage_segment.organisation_id = ${organisationId} and ${condition}
       and usage_segment.counted_under = any (${onPage}::text[])`,
  );
  return summed(sql.join(parts, sql` union all `), sql`group_key`);
}

/** What a part is added up from. */
function countedOf(
  withName: boolean,
  window?: { readonly from: string; readonly to: string },
): RawBuilder<unknown> {
  const since = window === undefined ? sql`slice.since` : sql`${window.from}::timestamptz`;
  const until = window === undefined ? sql`slice.until` : sql`${window.to}::timestamptz`;
  const nothing = sql`null::text`;
  return sql`
           usage_segment.kind, ${withName ? sql`coalesce(managed_by_name, resource_name)` : nothing} as name,
           ${withName ? sql`coalesce(managed_by_type, resource_type)` : nothing} as type, quantity, started_at,
           extract(epoch from least(coalesce(ended_at, 'infinity'), ${until}) - greatest(started_at, ${since})) as seconds`;
}

function summed(parts: RawBuilder<unknown>, position: RawBuilder<unknown>): RawBuilder<SummaryRow> {
  const seconds = (kind: string) => sql`coalesce(sum(seconds) filter (where kind = ${kind}), 0)::float8`;
  const amount = (kind: string, measure: string) =>
    sql`coalesce(sum(seconds * (quantity ->> ${measure}::text)::numeric) filter (where kind = ${kind}), 0)::float8`;
  return sql<SummaryRow>`(
    select group_key, ${position} as position,
           -- A resource that was renamed is shown with its last name.
           (array_agg(name order by started_at desc))[1] as name, max(type) as type,
           ${seconds("compute")} as compute_seconds, ${amount("compute", "vcpu")} as vcpu_seconds,
           ${amount("compute", "memory_mb")} as memory_mb_seconds, ${seconds("disk")} as disk_seconds,
           ${amount("disk", "disk_gb")} as disk_gb_seconds, ${seconds("public_ip")} as public_ip_seconds
      from (${parts}) part group by group_key)`;
}

/** The first days of the months in which segments of the window can have ended: also the next one, which may just begin. */
function monthsOf({ from, now }: Window): readonly string[] {
  const months: string[] = [];
  const month = new Date(from);
  month.setUTCDate(1);
  month.setUTCHours(0, 0, 0, 0);
  const last = new Date(now);
  last.setUTCMonth(last.getUTCMonth() + 1, 1);
  for (; month <= last; month.setUTCMonth(month.getUTCMonth() + 1))
    months.push(month.toISOString().slice(0, 10));
  return months;
}
