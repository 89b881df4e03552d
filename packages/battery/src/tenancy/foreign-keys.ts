import type { Client } from "pg";

/** A foreign key between two tables of organisations. */
export type TenantForeignKey = {
  readonly name: string;
  readonly child: string;
  readonly parent: string;
  /** In the same order: a child's column and the parent's column that it refers to. */
  readonly childColumns: readonly string[];
  readonly parentColumns: readonly string[];
};

/** Reads them from the catalogue, so that a new table cannot be forgotten. */
export async function tenantForeignKeys(owner: Client): Promise<TenantForeignKey[]> {
  const { rows } = await owner.query<TenantForeignKey>(`
    with tenant as (
      select attrelid as oid from pg_attribute join pg_class on pg_class.oid = attrelid
       where attname = 'organisation_id' and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace)
    select conname as name, conrelid::regclass::text as child, confrelid::regclass::text as parent,
           (select array_agg(attname::text order by place) from unnest(conkey) with ordinality as key (number, place)
              join pg_attribute on attrelid = conrelid and attnum = number) as "childColumns",
           (select array_agg(attname::text order by place) from unnest(confkey) with ordinality as key (number, place)
              join pg_attribute on attrelid = confrelid and attnum = number) as "parentColumns"
      from pg_constraint
     where contype = 'f' and conrelid in (select oid from tenant) and confrelid in (select oid from tenant)
     order by 2, 1`);
  return rows;
}

export type Crossing = { readonly what: string; readonly violation: string | null };

/** Tries to let a child of one organisation point at a parent of the other, in every way there is; all is undone. */
export async function tryToCross(
  owner: Client,
  key: TenantForeignKey,
  organisation: string,
  other: string,
): Promise<Crossing[]> {
  const { child, parent, name } = key;
  const at = key.childColumns.indexOf("organisation_id");
  const links = key.childColumns
    .map((column, index) => [column, key.parentColumns[index] ?? ""] as const)
    .filter(([column]) => column !== "organisation_id");
  const sets = links.map(([column, from]) => `${column} = foreigner.${from}`).join(", ");
  const foreigner = `(select * from ${parent} where organisation_id = $2 limit 1) foreigner`;
  const own = `(select ctid from ${child} where organisation_id = $1 and ${links[0]?.[0]} is not null limit 1)`;
  const columns = await columnsOf(owner, child);
  const copied = columns.map((column) => {
    const link = links.find(([linked]) => linked === column);
    return link === undefined ? `child.${column}` : `foreigner.${link[1]}`;
  });
  const attempts: readonly (readonly [what: string, sql: string])[] = [
    [
      `a row of ${child} moved to the other's ${parent}`,
      `update ${child} set ${sets} from ${foreigner} where ${child}.ctid = ${own}`,
    ],
    [
      `a new row of ${child} under the other's ${parent}`,
      `insert into ${child} (${columns.join(", ")}) select ${copied.join(", ")}
         from (select * from ${child} where ctid = ${own}) child, ${foreigner}`,
    ],
    [
      `a ${parent} given away from above its ${child}`,
      `update ${parent} set organisation_id = $2 where ctid = (
         select p.ctid from ${parent} p join ${child} c on ${links.map(([column, to]) => `c.${column} = p.${to}`).join(" and ")}
          where p.organisation_id = $1 and c.organisation_id = $1 limit 1)`,
    ],
  ];
  const crossings: Crossing[] = [
    {
      what: `${name} names the organisation`,
      violation:
        at >= 0 && key.parentColumns[at] === "organisation_id"
          ? null
          : `${name} of ${child} refers to ${parent} without its organisation`,
    },
  ];
  for (const [what, sql] of attempts)
    crossings.push({ what, violation: await attempt(owner, key, what, sql, [organisation, other]) });
  return crossings;
}

/** The tested key must refuse by itself, so every other constraint is removed for the attempt. */
async function attempt(
  owner: Client,
  { name, child, parent }: TenantForeignKey,
  what: string,
  sql: string,
  values: readonly string[],
): Promise<string | null> {
  await owner.query("begin");
  try {
    const { rows } = await owner.query<{ statement: string }>(
      `select format('alter table %s drop constraint if exists %I cascade', conrelid::regclass, conname) as statement
         from pg_constraint
        where conname <> $3 and contype in ('f', 'u', 'p', 'x', 'c')
          and (conrelid in ($1::regclass, $2::regclass) and contype <> 'p' or confrelid = $2::regclass)
          and not (contype in ('u', 'p') and exists (select from pg_constraint f where f.conname = $3 and f.conindid = pg_constraint.conindid))
       union all
       select format('drop index %s', indexrelid::regclass) from pg_index
        where indrelid = $1::regclass and indisunique
          and not exists (select from pg_constraint where conindid = indexrelid)`,
      [child, parent, name],
    );
    const drops = rows.map(({ statement }) => statement);
    for (const statement of drops) await owner.query(statement);
    await dropPrimaryKey(owner, child, name);
    const needed = [...sql.matchAll(/\$(\d)/g)].some(([, number]) => number === "2")
      ? values
      : values.slice(0, 1);
    const { rowCount } = await owner.query(sql, [...needed]);
    return rowCount === 0
      ? `${what} could not be tried: there was no row`
      : `${what} was let through by ${name}`;
  } catch (error) {
    const refusal = error as { code?: string; constraint?: string; message: string };
    if (refusal.code === "23503" && refusal.constraint === name) return null;
    return `${what} could not be tried: ${refusal.message}`;
  } finally {
    await owner.query("rollback");
  }
}

/** A copy has its original's key; it does not matter unless the tested foreign key references it. */
async function dropPrimaryKey(owner: Client, child: string, tested: string): Promise<void> {
  const { rows } = await owner.query<{ conname: string }>(
    `select conname from pg_constraint p where conrelid = $1::regclass and contype = 'p'
        and not exists (select from pg_constraint f where f.conname = $2 and f.confrelid = p.conrelid)`,
    [child, tested],
  );
  for (const { conname } of rows)
    await owner.query(`alter table ${child} drop constraint ${conname} cascade`);
}

async function columnsOf(owner: Client, table: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  return rows.map(({ name }) => name);
}
