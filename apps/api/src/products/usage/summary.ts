import type { Schemas } from "@kule/contract/schemas";
import { type RawBuilder, sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { fetchPage } from "../../platform/pagination.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { usageCondition, type Window, windowOf } from "./filters.ts";

type Row = Omit<Schemas["UsageSummaryItem"], "group"> & { readonly group_key: string | null };

/**
 * The usage in the window, by group. Every segment counts with the part of it that is inside, to the
 * microsecond.
 */
export async function summariseUsage(request: ApiRequest<"summariseUsage">): Promise<Reply> {
  const { db, query, organisationId } = request;
  const groupBy = query.group_by ?? "resource";
  const group = groupOf(groupBy);
  const window = await windowOf(db, query);
  const parts = db
    .selectFrom("usage_segment")
    .innerJoin(daysOf(groupBy, window).as("slice"), (join) => join.onTrue())
    .select([
      group.as("group_key"),
      sql<string>`usage_segment.kind`.as("kind"),
      sql<
        string | null
      >`${groupBy === "resource" ? sql`coalesce(managed_by_name, resource_name)` : sql`null`}`.as("name"),
      sql<
        string | null
      >`${groupBy === "resource" ? sql`coalesce(managed_by_type, resource_type)` : sql`null`}`.as("type"),
      sql`quantity`.as("quantity"),
      sql`started_at`.as("started_at"),
      sql<string>`extract(epoch from least(coalesce(ended_at, 'infinity'), slice.until)
                                   - greatest(started_at, slice.since))`.as("seconds"),
    ])
    .where("usage_segment.organisation_id", "=", organisationId)
    .where(usageCondition("usage_segment", query))
    .where(sql<boolean>`(ended_at is null or ended_at > slice.since) and started_at < slice.until
                           and slice.since < slice.until`);
  const amount = (kind: string, measure: string) =>
    sql<number>`coalesce(sum(part.seconds * (part.quantity ->> ${measure})::numeric)
                         filter (where part.kind = ${kind}), 0)::float8`;
  const seconds = (kind: string) =>
    sql<number>`coalesce(sum(part.seconds) filter (where part.kind = ${kind}), 0)::float8`;
  const groups = db
    .selectFrom(parts.as("part"))
    .select([
      "part.group_key",
      // Rows without a group come first, and separate from the empty label.
      sql<string>`coalesce('=' || part.group_key, '')`.as("position"),
      // A resource that was renamed is shown with its last name.
      sql<string | null>`(array_agg(part.name order by part.started_at desc))[1]`.as("name"),
      sql<string | null>`max(part.type)`.as("type"),
      seconds("compute").as("compute_seconds"),
      amount("compute", "vcpu").as("vcpu_seconds"),
      amount("compute", "memory_mb").as("memory_mb_seconds"),
      seconds("disk").as("disk_seconds"),
      amount("disk", "disk_gb").as("disk_gb_seconds"),
      seconds("public_ip").as("public_ip_seconds"),
    ])
    .groupBy("part.group_key");
  const page = await fetchPage(db.selectFrom(groups.as("summary")).selectAll(), {
    list: `usage-summary ${groupBy}`,
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [{ column: "summary.position", kind: "text" }],
  });
  const answer: Schemas["UsageSummary"] = {
    group_by: groupBy,
    from: iso(window.from),
    to: iso(window.to),
    items: (page.rows as unknown as Row[]).map(({ group_key, ...row }) => viewItem(group_key, row)),
    next_cursor: page.nextCursor,
  };
  return reply(200, answer);
}

function viewItem(group: string | null, row: Omit<Row, "group_key">): Schemas["UsageSummaryItem"] {
  return {
    group,
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
function groupOf(groupBy: string): RawBuilder<string | null> {
  // The servers that a load balancer or a cluster runs on are counted under it.
  if (groupBy === "resource") return sql`coalesce(managed_by_id, resource_id)`;
  if (groupBy === "package") return sql`package`;
  if (groupBy === "day") return sql`to_char(slice.since at time zone 'UTC', 'YYYY-MM-DD')`;
  const label = /^label:(.+)$/.exec(groupBy)?.[1];
  if (label !== undefined) return sql`usage_segment.labels ->> ${label}`;
  throw new Invalid([fieldError("group_by", "not_one_of", "is resource, package, day or label:<key>")]);
}

/** The window in one piece, or cut at midnight UTC. */
function daysOf(groupBy: string, { from, to }: Window) {
  return groupBy === "day"
    ? sql<{ since: Date; until: Date }>`(
        select greatest(day at time zone 'UTC', ${from}::timestamptz) as since,
               least((day + interval '1 day') at time zone 'UTC', ${to}::timestamptz) as until
          from generate_series(date_trunc('day', ${from}::timestamptz at time zone 'UTC'),
                               ${to}::timestamptz at time zone 'UTC', interval '1 day') day
         where day at time zone 'UTC' < ${to}::timestamptz)`
    : sql<{ since: Date; until: Date }>`(select ${from}::timestamptz as since, ${to}::timestamptz as until)`;
}

const iso = (time: string) => new Date(time).toISOString();
