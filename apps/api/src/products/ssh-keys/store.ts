import type { RequestQuery } from "@kule/contract/schemas";
import type { SshKey } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";
import { sendAhead } from "../../platform/transaction.ts";

export type SshKeyRow = Selectable<SshKey>;

export async function findSshKey(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<SshKeyRow | null> {
  const row = await db
    .selectFrom("ssh_key")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** The key under its row lock, or null when it was deleted concurrently. */
export async function lockSshKey(tx: Tx, organisationId: string, id: string): Promise<SshKeyRow | null> {
  const row = await tx
    .selectFrom("ssh_key")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export function listSshKeys(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listSshKeys">,
): Promise<Page<SshKeyRow>> {
  let rows = db.selectFrom("ssh_key").selectAll().where("organisation_id", "=", organisationId);
  if (query.name !== undefined) rows = rows.where("name", "=", query.name);
  if (query.q !== undefined)
    rows = rows.where(searchCondition(query.q, { texts: ["ssh_key.name"], labels: "ssh_key.labels" }));
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "ssh_key.labels"));
  return fetchPage(rows, inOrder("ssh-keys", query, "ssh_key"));
}

/** Those of the ids that are keys of this organisation. */
export async function findSshKeys(
  db: Database | Tx,
  organisationId: string,
  ids: readonly string[],
): Promise<SshKeyRow[]> {
  if (ids.length === 0) return [];
  return db
    .selectFrom("ssh_key")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "in", [...ids])
    .execute();
}

/** Id of the organisation's key with that name or that fingerprint, if any. */
export async function findSshKeyLike(
  tx: Tx,
  organisationId: string,
  column: "name" | "fingerprint_sha256",
  value: string,
): Promise<string | null> {
  const row = await tx
    .selectFrom("ssh_key")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where(column, "=", value)
    .executeTakeFirst();
  return row?.id ?? null;
}

export function insertSshKey(tx: Tx, values: Insertable<SshKey>): Promise<SshKeyRow> {
  return tx.insertInto("ssh_key").values(values).returningAll().executeTakeFirstOrThrow();
}

export function updateSshKeyRow(
  tx: Tx,
  organisationId: string,
  id: string,
  changes: { name?: string; labels?: string },
): Promise<SshKeyRow> {
  return tx
    .updateTable("ssh_key")
    .set({ ...changes, generation: sql<number>`generation + 1`, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteSshKeyRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.deleteFrom("ssh_key").where("organisation_id", "=", organisationId).where("id", "=", id).execute();
}

/**
 * A server was given these keys now; those that were deleted concurrently are skipped. It does not change the
 * version that a caller who changes the key must have seen.
 */
export function noteKeysUsed(tx: Tx, organisationId: string, ids: readonly string[]): void {
  if (ids.length === 0) return;
  const keys = tx
    .updateTable("ssh_key")
    .set({ last_used_at: sql<Date>`now()` })
    .where("organisation_id", "=", organisationId)
    .where("id", "in", [...ids]);
  sendAhead(tx, keys);
}
