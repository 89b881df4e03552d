import type { Client } from "pg";

export type Probe = { readonly cases: number; readonly violations: readonly string[] };

/**
 * What a transaction that acts for an organisation can do with each table when its queries name no
 * organisation at all, as the API's role: see its own rows and no others, change none of others, write none
 * for others.
 */
export async function probeTables(
  api: Client,
  owner: Client,
  tables: readonly string[],
  organisation: string,
  other: string,
): Promise<Probe> {
  const violations: string[] = [];
  let cases = 0;
  const expect = (holds: boolean, sentence: string) => {
    cases += 1;
    if (!holds) violations.push(sentence);
  };
  for (const table of tables) {
    const count = async (whose: string) => {
      const { rows } = await owner.query<{ n: number }>(
        `select count(*)::integer as n from ${table} where organisation_id = $1`,
        [whose],
      );
      return rows[0]?.n ?? 0;
    };
    const own = await count(organisation);
    const theirs = await count(other);
    expect(own > 0 && theirs > 0, `${table} has no rows of both organisations, so nothing is proved of it`);
    const seen = await asOrganisation(api, organisation, `select organisation_id from ${table}`);
    expect(
      seen.rows.length === own && seen.rows.every((row) => row.organisation_id === organisation),
      `acting as one organisation, ${seen.rows.length} rows of ${table} are seen; its own are ${own}`,
    );
    const nobody = await asOrganisation(api, "org_nobody", `select 1 from ${table}`);
    expect(nobody.rows.length === 0, `acting as nobody, ${nobody.rows.length} rows of ${table} are seen`);
    for (const [what, sql] of [
      ["changed", `update ${table} set organisation_id = organisation_id where organisation_id = '${other}'`],
      ["removed", `delete from ${table} where organisation_id = '${other}'`],
    ] as const) {
      const { rowCount, code } = await asOrganisation(api, organisation, sql);
      expect(code === "42501" || rowCount === 0, `${rowCount} rows of others in ${table} could be ${what}`);
    }
    const { rows } = await owner.query<{ row: object }>(
      `select to_jsonb(t) as row from ${table} t where organisation_id = $1 limit 1`,
      [other],
    );
    const columns = await writtenColumns(owner, table);
    const written = await asOrganisation(
      api,
      organisation,
      `insert into ${table} (${columns}) select ${columns} from jsonb_populate_record(null::${table}, $1)`,
      [JSON.stringify(rows[0]?.row ?? {})],
    );
    expect(written.code === "42501", `a row for others could be written into ${table} (${written.code})`);
    const given = await asOrganisation(
      api,
      organisation,
      `update ${table} set organisation_id = '${other}' where organisation_id = '${organisation}'`,
    );
    expect(given.code === "42501", `a row of ${table} could be given to others (${given.code})`);
  }
  return { cases, violations };
}

/** Not those that Postgres makes from others. */
async function writtenColumns(owner: Client, table: string): Promise<string> {
  const { rows } = await owner.query<{ columns: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? "";
}

type Outcome = {
  readonly rows: readonly { readonly organisation_id?: string }[];
  readonly rowCount: number;
  /** SQLSTATE of a refusal. */
  readonly code: string | null;
};

/** In a transaction that is undone, acting as the organisation the way a mutation does. */
async function asOrganisation(
  api: Client,
  organisation: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Outcome> {
  await api.query("begin");
  try {
    await api.query("select set_config('app.organisation', $1, true)", [organisation]);
    const { rows, rowCount } = await api.query(sql, [...values]);
    return { rows, rowCount: rowCount ?? 0, code: null };
  } catch (error) {
    return { rows: [], rowCount: 0, code: (error as { code?: string }).code ?? String(error) };
  } finally {
    await api.query("rollback");
  }
}
