import type { Database } from "./database.ts";
import type { OneOf } from "./pagination.ts";

/** A bound on the size of a statement: one of more parts is a walk through the list again. */
const MOST_PARTS = 200;

/**
 * A filter by region, or by another column whose values the contract lists, of a table that has an index of both before the
 * sort keys: of a region every value, and of a value every region. Null without such a filter, and when it has too many parts.
 *
 * @param every all values of the other column
 */
export async function ofRegionAnd(
  db: Database,
  column: "job.kind" | "usage_event.kind" | "usage_segment.kind" | "server.status",
  wanted: { readonly region?: string | undefined; readonly values?: readonly string[] | undefined },
  every: readonly string[],
): Promise<OneOf["alternatives"] | null> {
  const { region, values = every } = wanted;
  if (region === undefined && wanted.values === undefined) return null;
  const regions = region === undefined ? await slugsOfRegions(db) : [region];
  if (regions.length * values.length > MOST_PARTS) return null;
  const [table] = column.split(".");
  return regions.flatMap((slug) => values.map((value) => ({ [`${table}.region`]: slug, [column]: value })));
}

export async function slugsOfRegions(db: Database): Promise<string[]> {
  const regions = await db.selectFrom("region").select("slug").execute();
  return regions.map(({ slug }) => slug);
}
