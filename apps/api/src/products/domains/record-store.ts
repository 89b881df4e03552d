import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import type { RecordSet } from "@kule/rules/domains/record-set";
import type { RecordType } from "@kule/rules/domains/record-types";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { fetchPage, type Page, type Paging } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";

export type RecordSetRow = Selectable<DB["record_set"]>;

/** A domain as far as its record sets need it. */
export type RecordsOwner = { readonly id: string; readonly organisation_id: string };

export function recordSetEtag(row: Pick<RecordSetRow, "version">): string {
  return `"r${row.version}"`;
}

/** A page of a domain's record sets by name and type. */
export function listRecordSets(
  db: Database,
  { id, organisation_id }: RecordsOwner,
  query: RequestQuery<"listRecordSets">,
): Promise<Page<RecordSetRow>> {
  let rows = db
    .selectFrom("record_set")
    .selectAll()
    .where("organisation_id", "=", organisation_id)
    .where("domain_id", "=", id);
  if (query.name !== undefined) rows = rows.where("name", "=", query.name.toLowerCase());
  if (query.type !== undefined) rows = rows.where("type", "in", query.type);
  if (query.q !== undefined)
    rows = rows.where(
      searchCondition(query.q, {
        texts: ["record_set.name"],
        also: [sql`position(lower(${query.q}::text) in lower(array_to_string(record_set.values, ' '))) > 0`],
      }),
    );
  const paging: Paging = {
    list: `record-sets ${id}`,
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [
      { column: "record_set.name", kind: "text" },
      { column: "record_set.type", kind: "text" },
    ],
  };
  return fetchPage(rows, paging);
}

export async function findRecordSet(
  db: Database | Tx,
  { id, organisation_id }: RecordsOwner,
  { name, type }: { readonly name: string; readonly type: RecordType },
): Promise<RecordSetRow | null> {
  const row = await db
    .selectFrom("record_set")
    .selectAll()
    .where("organisation_id", "=", organisation_id)
    .where("domain_id", "=", id)
    .where("name", "=", name)
    .where("type", "=", type)
    .executeTakeFirst();
  return row ?? null;
}

/** All record sets of some names; of all names for null. */
export function recordSetsOf(
  db: Database | Tx,
  { id, organisation_id }: RecordsOwner,
  names: readonly string[] | null,
): Promise<RecordSetRow[]> {
  const rows = db
    .selectFrom("record_set")
    .selectAll()
    .where("organisation_id", "=", organisation_id)
    .where("domain_id", "=", id);
  if (names === null) return rows.orderBy("name").orderBy("type").execute();
  return rows.where(sql<boolean>`record_set.name = any (${[...names]}::text[])`).execute();
}

export function toRecordSet(row: RecordSetRow): RecordSet {
  return { name: row.name, type: row.type as RecordType, ttl: row.ttl_seconds, values: row.values };
}

/** A record set to be written, with what is beside its records. */
export type WrittenRecordSet = RecordSet & {
  /** Of the value auto:srv_…. */
  readonly serverId: string | null;
  readonly managedBy: string | null;
  readonly comment: string;
};

/** Writes record sets, in one statement for all of them, and counts the version of each that exists. */
export async function writeRecordSets(
  tx: Tx,
  { id, organisation_id }: RecordsOwner,
  recordSets: readonly WrittenRecordSet[],
): Promise<RecordSetRow[]> {
  if (recordSets.length === 0) return [];
  const written = JSON.stringify(
    recordSets.map(({ name, type, ttl, values, serverId, managedBy, comment }) => ({
      name,
      type,
      ttl_seconds: ttl,
      values,
      server_id: serverId,
      managed_by: managedBy,
      comment,
    })),
  );
  const { rows } = await sql<RecordSetRow>`
    insert into record_set (organisation_id, domain_id, name, type, ttl_seconds, values, server_id, managed_by, comment)
    select ${organisation_id}, ${id}, name, type, ttl_seconds, values, server_id, managed_by, comment
      from jsonb_to_recordset(${written}::jsonb)
        as written (name text, type text, ttl_seconds integer, "values" text[], server_id text, managed_by text, comment text)
    on conflict (organisation_id, domain_id, name, type) do update
      set ttl_seconds = excluded.ttl_seconds, values = excluded.values, server_id = excluded.server_id,
          managed_by = excluded.managed_by, comment = excluded.comment, version = record_set.version + 1,
          updated_at = clock_timestamp()
    returning *`.execute(tx);
  return rows;
}

/** Deletes record sets, in one statement for all of them. */
export async function deleteRecordSets(
  tx: Tx,
  { id, organisation_id }: RecordsOwner,
  keys: readonly { readonly name: string; readonly type: string }[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql`
    delete from record_set using unnest(${keys.map(({ name }) => name)}::text[], ${keys.map(({ type }) => type)}::text[])
        as gone (name, type)
     where record_set.organisation_id = ${organisation_id} and record_set.domain_id = ${id}
       and record_set.name = gone.name and record_set.type = gone.type`.execute(tx);
}

/** Which of these servers the organisation has. */
export async function existingServers(
  tx: Tx,
  organisationId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx
    .selectFrom("server")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where(sql<boolean>`server.id = any (${[...ids]}::text[])`)
    .where("deleted_at", "is", null)
    .execute();
  return new Set(rows.map(({ id }) => id));
}
