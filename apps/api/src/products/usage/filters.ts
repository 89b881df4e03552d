import { isOwnerId } from "@kule/rules/servers/owner";
import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { isOneOf } from "../../platform/labelled.ts";
import { timeOf } from "../../platform/time-parameter.ts";

/** The filters of every form of usage. */
export type UsageFilters = {
  readonly resource?: string | undefined;
  readonly region?: string | undefined;
  readonly label_selector?: string | undefined;
  readonly kind?: readonly string[];
  /** Those that have the labels of the selector; null when that is not known (see labelled.ts). */
  readonly labelled?: readonly string[] | null;
};

/** As a condition on the rows of the table; true without filters. */
export function usageCondition(
  table: "usage_event" | "usage_segment",
  { resource, region, kind, label_selector, labelled }: UsageFilters,
): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (resource !== undefined) {
    const itself = sql`${column("resource_id")} = ${resource}`;
    const servers = sql`${column("managed_by_id")} = ${resource}`;
    // An owner has events of its own beside those of its servers, and no segments.
    if (!isOwnerId(resource)) conditions.push(itself);
    else conditions.push(table === "usage_segment" ? servers : sql`(${servers} or ${itself})`);
  }
  if (region !== undefined) conditions.push(sql`${column("region")} = ${region}`);
  if (kind !== undefined) conditions.push(sql`${column("kind")} = any (${[...kind]}::text[])`);
  if (label_selector !== undefined) conditions.push(labelCondition(label_selector, `${table}.labels`));
  if (labelled) conditions.push(isOneOf(`${table}.id`, labelled));
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** Half-open. As texts that Postgres reads, so that no microsecond is lost. */
export type Window = {
  readonly from: string;
  readonly to: string;
  /** The time of the question. */
  readonly now: string;
};

/** Longer windows are for the export. */
const longestDays = 400;

/**
 * The requested window. Left out, it begins with the current month (UTC) and ends now; a later end becomes
 * now, because future use is unknown.
 *
 * @throws Invalid when it ends before it begins or is too long
 */
export async function windowOf(
  db: Database,
  query: { readonly from?: string; readonly to?: string },
): Promise<Window> {
  const from = query.from === undefined ? null : timeOf("from", query.from).toISOString();
  const to = query.to === undefined ? null : timeOf("to", query.to).toISOString();
  const { rows } = await sql<Window & { isBackwards: boolean; isTooLong: boolean }>`
    with asked as (
      select coalesce(${from}::timestamptz, date_trunc('month', clock_timestamp(), 'UTC')) as "from",
             least(coalesce(${to}::timestamptz, clock_timestamp()), clock_timestamp()) as "to")
    select "from"::text, greatest("from", "to")::text as "to", clock_timestamp()::text as "now",
           coalesce(${to}::timestamptz < "from", false) as "isBackwards",
           "to" - "from" > make_interval(days => ${longestDays}::integer) as "isTooLong" from asked`.execute(
    db,
  );
  const [window] = rows;
  if (window === undefined) throw new Error("a select without a table had no row");
  if (window.isBackwards) throw new Invalid([fieldError("to", "out_of_range", "is before from")]);
  if (window.isTooLong)
    throw new Invalid([fieldError("from", "out_of_range", `is more than ${longestDays} days before to`)]);
  return { from: window.from, to: window.to, now: window.now };
}
