import pg from "pg";

export type DumpedTable = { readonly name: string; readonly rows: number; readonly text: string };

/**
 * All rows of all tables, the queue's included, every column as Postgres writes it (bytea in hexadecimal).
 *
 * @param ownerUrl of a role that row-level security does not stop
 * @throws Error when there is no table: then something else was dumped
 */
export async function dumpDatabase(ownerUrl: string): Promise<DumpedTable[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    const { rows: tables } = await client.query<{ name: string }>(`
      select format('%I.%I', n.nspname, c.relname) as name
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'm') and n.nspname !~ '^(pg_|information_schema$)'
       order by 1`);
    if (tables.length === 0) throw new Error("the database has no table");
    const dumped: DumpedTable[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ line: string }>(`select t::text as line from ${name} t`);
      dumped.push({ name, rows: rows.length, text: rows.map(({ line }) => line).join("\n") });
    }
    return dumped;
  } finally {
    await client.end();
  }
}
