import type { Database } from "./database.ts";
import type { OneOf } from "./pagination.ts";

/** A bound on the size of a statement: one of more parts is a walk through the list again. */
const MOST_PARTS = 200;

/**
 * A filter by region or kind of a table that has an index of both before the sort keys: of a region every kind, and of a
 * kind every region. Null without such a filter, and when it has too many parts.
 *
 * @param kinds all there are
 */
export async function ofRegionAndKind(
  db: Database,
  table: "job" | "usage_event" | "usage_segment",
  { region, kind }: { readonly region?: string | undefined; readonly kind?: readonly string[] | undefined },
  kinds: readonly string[],
): Promise<OneOf["alternatives"] | null> {
  if (region === undefined && kind === undefined) return null;
  const regions = region === undefined ? await slugsOfRegions(db) : [region];
  const wanted = kind ?? kinds;
  if (regions.length * wanted.length > MOST_PARTS) return null;
  return regions.flatMap((slug) =>
    wanted.map((each) => ({ [`${table}.region`]: slug, [`${table}.kind`]: each })),
  );
}

async function slugsOfRegions(db: Database): Promise<string[]> {
  const regions = await db.selectFrom("region").select("slug").execute();
  return regions.map(({ slug }) => slug);
}
