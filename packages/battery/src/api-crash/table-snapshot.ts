import type pg from "pg";

type Row = Readonly<Record<string, unknown>>;

/** Every row of every table, by table and primary key. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Row>>;

type Table = { readonly name: string; readonly schema: string; readonly key: readonly string[] | null };

/** Written in the background whenever a token is used: not an effect of the request. */
const unwatched: Readonly<Record<string, readonly string[]>> = { token: ["last_used_at"] };

/** Migrations' own books, which no request touches. */
const books = new Set([
  "kysely_migration",
  "kysely_migration_lock",
  "migrations",
  "_private_known_crontabs",
  // Processes' own signs of life.
  "replica",
]);

/** Takes snapshots of one database: all of Kule's tables, and the queue. */
export class SnapshotTaker {
  readonly #owner: pg.Pool;
  readonly #isWatched: (table: string, row: Row) => boolean;
  #tables: readonly Table[] | null = null;

  /** @param owner connections of the tables' owner, who sees all organisations */
  constructor(owner: pg.Pool, isWatched: (table: string, row: Row) => boolean = () => true) {
    this.#owner = owner;
    this.#isWatched = isWatched;
  }

  async take(): Promise<Snapshot> {
    this.#tables ??= await listTables(this.#owner);
    const client = await this.#owner.connect();
    try {
      // One moment for all tables.
      await client.query("begin isolation level repeatable read read only");
      const snapshot = new Map<string, Map<string, Row>>();
      for (const table of this.#tables)
        snapshot.set(table.name, await readTable(client, table, (row) => this.#isWatched(table.name, row)));
      await client.query("commit");
      return snapshot;
    } finally {
      client.release();
    }
  }
}

/** @throws Error when there are no tables: every comparison would find nothing */
async function listTables(owner: pg.Pool): Promise<Table[]> {
  const { rows } = await owner.query<Table>(`
    select c.relname as name, n.nspname as schema,
           (select array_agg(a.attname::text order by array_position(i.indkey::int2[], a.attnum))
              from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
             where i.indrelid = c.oid and i.indisprimary) as key
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname in ('public', 'graphile_worker')
     order by 1`);
  const tables = rows.filter(({ name }) => !books.has(name));
  for (const expected of ["server", "job", "audit", "idempotency_key", "_private_jobs"])
    if (!tables.some(({ name }) => name === expected)) throw new Error(`there is no table ${expected}`);
  return tables;
}

async function readTable(
  client: pg.ClientBase,
  { name, schema, key }: Table,
  isWatched: (row: Row) => boolean,
): Promise<Map<string, Row>> {
  const left = (unwatched[name] ?? []).map((column) => ` - '${column}'`).join("");
  const { rows } = await client.query<{ row: Row }>(
    `select to_jsonb(t)${left} as row from "${schema}"."${name}" t`,
  );
  return new Map(
    rows
      .filter(({ row }) => isWatched(row))
      .map(({ row }) => [JSON.stringify(key === null ? row : key.map((column) => row[column])), row]),
  );
}
