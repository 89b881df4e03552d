import type { RequestQuery } from "@kule/contract/schemas";
import type { Organisation } from "@kule/database/generated/rows";
import { type Selectable, sql, type Updateable } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { isId } from "../../platform/ids.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";

export type OrganisationRow = Selectable<Organisation>;

export async function findOrganisation(db: Database | Tx, id: string): Promise<OrganisationRow | null> {
  const row = await db.selectFrom("organisation").selectAll().where("id", "=", id).executeTakeFirst();
  return row ?? null;
}

export async function findOrganisationBySlug(
  db: Database | Tx,
  slug: string,
): Promise<OrganisationRow | null> {
  const row = await db.selectFrom("organisation").selectAll().where("slug", "=", slug).executeTakeFirst();
  return row ?? null;
}

/** The organisation under its row lock: only the holder changes members. */
export async function lockOrganisation(tx: Tx, id: string): Promise<OrganisationRow | null> {
  const row = await tx
    .selectFrom("organisation")
    .selectAll()
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export function listOrganisations(
  db: Database,
  query: RequestQuery<"listOrganisations">,
): Promise<Page<OrganisationRow>> {
  let rows = db.selectFrom("organisation").selectAll();
  if (query.name !== undefined) rows = rows.where("name", "=", query.name);
  return fetchPage(rows, newestFirst("organisations", query, "organisation"));
}

export function insertOrganisation(
  tx: Database | Tx,
  values: { id: string; slug: string; name: string; server_limit?: number | null },
): Promise<OrganisationRow> {
  return tx.insertInto("organisation").values(values).returningAll().executeTakeFirstOrThrow();
}

export function updateOrganisationRow(
  tx: Tx,
  id: string,
  changes: Updateable<Organisation>,
): Promise<OrganisationRow> {
  return tx
    .updateTable("organisation")
    .set({ ...changes, generation: sql<number>`generation + 1`, updated_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Those of the ids that are no organisation. */
export async function unknownOrganisations(db: Database | Tx, ids: readonly string[]): Promise<string[]> {
  const possible = ids.filter((id) => isId("org", id));
  if (possible.length === 0) return [...ids];
  const rows = await db.selectFrom("organisation").select("id").where("id", "in", possible).execute();
  const known = new Set(rows.map((row) => row.id));
  return ids.filter((id) => !known.has(id));
}
