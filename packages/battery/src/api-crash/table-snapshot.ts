import type pg from "pg";

type Row = Readonly<Record<string, unknown>>;

/** Every row of every table, by table and primary key; of a table of amounts each sum, by what it is the sum of. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Row>>;

type Table = { readonly name: string; readonly schema: string; readonly key: readonly string[] | null };

/** Written in the background whenever a token is used: not an effect of the request. */
const unwatched: Readonly<Record<string, readonly string[]>> = { token: ["last_used_at"] };

/** Migrations' and processes' own books: no effect of a request. */
const books = new Set([
  "kysely_migration",
  "kysely_migration_lock",
  "migrations",
  "_private_known_crontabs",
  // Graphile writes the row of a queue with its first entry.
  "_private_job_queues",
  // The names of tasks: one is written with its first entry.
  "_private_tasks",
  // Processes' own signs of life.
  "replica",
  "worker_process",
]);

/**
 * Tables without a primary key, whose rows add up: a change inserts one, and many are replaced by their sums at any time.
 */
export const tablesOfAmounts: ReadonlySet<string> = new Set(["quota_count", "public_address_count"]);

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
     where c.relkind in ('r', 'p') and n.nspname in ('public', 'graphile_worker')
     order by 1`);
  const tables = rows.filter(({ name }) => !books.has(name));
  for (const expected of ["server", "job", "audit", "idempotency_key", "_private_jobs"])
    if (!tables.some(({ name }) => name === expected)) throw new Error(`there is no table ${expected}`);
  for (const name of tablesOfAmounts)
    if (!tables.some((table) => table.name === name && table.key === null))
      throw new Error(`there is no table ${name} without a primary key`);
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
  const watched = rows.map(({ row }) => row).filter(isWatched);
  if (tablesOfAmounts.has(name)) return sumsOf(watched);
  if (key === null) return numbered(watched);
  return new Map(watched.map((row) => [JSON.stringify(key.map((column) => row[column])), row]));
}

/** Without a primary key each row is there, equal ones too. */
export function numbered(rows: readonly Row[]): Map<string, Row> {
  const seen = new Map<string, number>();
  return new Map(
    rows.map((row) => {
      const text = JSON.stringify(row);
      const number = (seen.get(text) ?? 0) + 1;
      seen.set(text, number);
      return [`${number} ${text}`, row];
    }),
  );
}

/** One row for those that differ in their amounts only. */
export function sumsOf(rows: readonly Row[]): Map<string, Row> {
  const sums = new Map<string, Row & { readonly amount: number }>();
  for (const { amount, ...of } of rows) {
    const key = JSON.stringify(of);
    sums.set(key, { ...of, amount: (sums.get(key)?.amount ?? 0) + Number(amount) });
  }
  return sums;
}
