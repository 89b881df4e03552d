import { type RawBuilder, sql } from "kysely";
import type { SummaryRow } from "./summary-row.ts";

/** What the totals are grouped by: no resources, which have no balances. */
export type TotalsBy = "package" | "day" | { readonly label: string };

/**
 * The usage of all of an organisation, or of its part in one region, by group: the difference between what had been used up to
 * the end of each slice of the window and up to its beginning. Both are computed from the balances at the last midnight before,
 * or at the time up to which there are balances, and from what began or ended since then (docs/adr/0048).
 *
 * @param slices a subquery of `group_key`, `since` and `until`: the window, cut where the groups are days
 */
export function totals(
  organisationId: string,
  by: TotalsBy,
  slices: RawBuilder<unknown>,
  region: string | undefined,
): RawBuilder<SummaryRow> {
  const inRegion = (column: string) =>
    region === undefined ? sql`true` : sql`${sql.ref(column)} = ${region}`;
  const { groups, groupOfChange, groupOfBalance, isSlice } = partsOf(organisationId, by, inRegion);
  const measure = (kind: string, column: string) =>
    sql`coalesce(sum(${sql.ref(column)}) filter (where kind = ${kind}), 0)::float8`;
  return sql<SummaryRow>`(
    with edge as materialized (
      select slice.group_key as slice, edge.sign, edge.at, extract(epoch from edge.at) as seconds,
             case when edge.at >= o.until then 'infinity'
                  else (edge.at at time zone 'UTC')::date end as before_day,
             case when o.until is null then '-infinity' when edge.at >= o.until then o.until
                  else date_trunc('day', edge.at, 'UTC') end as since
        from ${slices} slice
       cross join (select usage_balanced_until as until from organisation where id = ${organisationId}) o
       cross join lateral (values (-1, slice.since), (1, slice.until)) edge (sign, at)
       where slice.since < slice.until),
    recent as materialized (
      select edge.slice, ${groupOfChange} as group_key, c.kind,
             sum(edge.sign * c.sign * (edge.seconds - c.seconds)) as seconds,
             sum(edge.sign * c.sign * (edge.seconds - c.seconds) * c.first) as first,
             sum(edge.sign * c.sign * (edge.seconds - c.seconds) * c.second) as second,
             sum(case edge.sign when 1 then c.begun else -c.ended end) as segments
        from edge
       cross join lateral (
         select * from usage_change change
          where change.organisation_id = ${organisationId} and change.at >= edge.since and change.at <= edge.at
            and (change.ended = 1 or change.at < edge.at) and ${inRegion("change.region")}
         -- For each edge by the indexes of the times. As a join, Postgres would read all changes once and compare them.
         offset 0) c
       group by 1, 2, 3),
    groups as (${groups})
    select groups.group_key, groups.position, null::text as name, null::text as type,
           used.compute_seconds, used.vcpu_seconds, used.memory_mb_seconds, used.disk_seconds, used.disk_gb_seconds,
           used.public_ip_seconds
      from groups
     cross join lateral (
       select ${measure("compute", "seconds")} as compute_seconds, ${measure("compute", "first")} as vcpu_seconds,
              ${measure("compute", "second")} as memory_mb_seconds, ${measure("disk", "seconds")} as disk_seconds,
              ${measure("disk", "first")} as disk_gb_seconds, ${measure("public_ip", "seconds")} as public_ip_seconds,
              -- Those that began before the end of the slice, without those that ended before its beginning.
              coalesce(sum(segments), 0) as segments
         from (select kind, seconds, first, second, segments from recent
                where recent.group_key is not distinct from groups.group_key
                union all
               select combination.kind,
                      counts.as * edge.sign * ((b.begun - b.ended) * edge.seconds - b.began_at),
                      counts.as * edge.sign * (b.first * edge.seconds - b.first_began_at),
                      counts.as * edge.sign * (b.second * edge.seconds - b.second_began_at),
                      counts.as * case edge.sign when 1 then b.begun else -b.ended end
                 from usage_balance combination
                cross join lateral (select ${groupOfBalance.countsAs} as as) counts
                 join edge on ${isSlice}
                cross join lateral (
                  select * from usage_balance each
                   where each.organisation_id = ${organisationId} and each.label_key = combination.label_key
                     and each.label_value = combination.label_value and each.region = combination.region
                     and each.kind = combination.kind and each.package = combination.package
                     and each.day < edge.before_day
                   order by each.day desc limit 1) b
                where combination.organisation_id = ${organisationId} and combination.is_last
                  and ${groupOfBalance.condition} and ${inRegion("combination.region")}) part) used
     where used.segments > 0)`;
}

type Parts = {
  /** Its groups, with what finds the balances of each. */
  readonly groups: RawBuilder<unknown>;
  /** The group of a change `c` of a segment. */
  readonly groupOfChange: RawBuilder<unknown>;
  readonly groupOfBalance: {
    readonly condition: RawBuilder<unknown>;
    readonly countsAs: RawBuilder<unknown>;
  };
  /** Whether an edge is one of the group's slice. */
  readonly isSlice: RawBuilder<unknown>;
};

const noLabels = sql`combination.label_key = '' and combination.label_value = ''`;
/** Rows without a group come first, and separate from the empty label. */
const position = sql`coalesce('=' || group_key, '') as position`;

function partsOf(
  organisationId: string,
  by: TotalsBy,
  inRegion: (column: string) => RawBuilder<unknown>,
): Parts {
  if (by === "day")
    return {
      groups: sql`select distinct slice as group_key, ${sql`coalesce('=' || slice, '') as position`} from edge`,
      groupOfChange: sql`edge.slice`,
      groupOfBalance: { condition: noLabels, countsAs: sql`1` },
      isSlice: sql`edge.slice = groups.group_key`,
    };
  if (by === "package")
    return {
      groups: sql`
        select group_key, ${position}, coalesce(group_key, '') as package from (
          select nullif(package, '') as group_key from usage_balance
           where organisation_id = ${organisationId} and is_last and label_key = '' and label_value = ''
             and ${inRegion("region")}
           union select group_key from recent) found`,
      groupOfChange: sql`c.package`,
      groupOfBalance: {
        condition: sql`${noLabels} and combination.package = groups.package`,
        countsAs: sql`1`,
      },
      isSlice: sql`true`,
    };
  const { label } = by;
  return {
    groups: sql`
      select group_key, ${position}, coalesce('=' || group_key, '') as label_value,
             case when group_key is null then array['', ${label}::text] else array[${label}::text] end as label_keys
        from (
          select substr(label_value, 2) as group_key from usage_balance
           where organisation_id = ${organisationId} and is_last and label_key = ${label} and label_value <> ''
             and ${inRegion("region")}
           union select group_key from recent
           union select null) found`,
    groupOfChange: sql`c.labels ->> ${label}::text`,
    groupOfBalance: {
      condition: sql`combination.label_key = any (groups.label_keys) and combination.label_value = groups.label_value`,
      // Those without the label are all segments without those that have it.
      countsAs: sql`case when combination.label_key <> '' and combination.label_value = '' then -1 else 1 end`,
    },
    isSlice: sql`true`,
  };
}
