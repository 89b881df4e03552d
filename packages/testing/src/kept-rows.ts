import { Client } from "pg";

/** The schema with the copies; no query of Kule's names it. */
const schema = "kept_rows";

/**
 * Keeps a copy of all rows beside them, and a function that puts them back: many times quicker than another clone,
 * because connections and their prepared statements stay. Also of a clone of a database with kept rows, anew.
 */
export async function keepRows(ownerUrl: string): Promise<void> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
    const restoring: string[] = [];
    for (const { name, columns, copy } of await tablesOf(client)) {
      restoring.push(`delete from ${name};`);
      const { rowCount } = await client.query(`create table ${schema}.${copy} as table ${name}`);
      if (rowCount === 0) await client.query(`drop table ${schema}.${copy}`);
      else
        restoring.push(
          `insert into ${name} (${columns}) overriding system value select ${columns} from ${schema}.${copy};`,
        );
    }
    for (const { sequence, next, called } of await sequencesOf(client))
      restoring.push(`perform setval(${client.escapeLiteral(sequence)}, ${next}, ${called});`);
    await client.query(
      `create function ${schema}.restore() returns void language plpgsql as $body$
       begin ${restoring.join("\n")} end $body$`,
    );
  } finally {
    await client.end();
  }
}

/** A connection that puts kept rows back. */
export type Restorer = {
  /** Deletes all rows and puts the kept ones back. */
  restore(): Promise<void>;
  end(): Promise<void>;
};

/** Without triggers and checks of references, which the kept rows have passed. */
export async function openRestorer(ownerUrl: string): Promise<Restorer> {
  // A setting of the connection: a change of it would discard the plans of the function's statements.
  const client = new Client({ connectionString: ownerUrl, options: "-c session_replication_role=replica" });
  client.on("error", () => {});
  await client.connect();
  return {
    async restore() {
      await client.query(`select ${schema}.restore()`);
    },
    end: () => client.end(),
  };
}

type Table = { readonly name: string; readonly columns: string; readonly copy: string };

async function tablesOf(client: Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(`
    select c.oid::regclass::text as name, 'table_' || c.oid as copy,
           string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relkind = 'r' and n.nspname !~ '^pg_|^information_schema$|^${schema}$'
     group by c.oid order by 1`);
  return rows;
}

type Sequence = { readonly sequence: string; readonly next: string; readonly called: boolean };

async function sequencesOf(client: Client): Promise<readonly Sequence[]> {
  const { rows } = await client.query<Sequence>(`
    select format('%I.%I', schemaname, sequencename) as sequence, coalesce(last_value, start_value)::text as next,
           last_value is not null as called
      from pg_sequences where schemaname !~ '^pg_|^${schema}$'`);
  return rows;
}
