import { tenantTables } from "@kule/database/tenant-tables";
import type { Client } from "pg";
import { type Finding, good, someOf, wrong } from "./finding.ts";

const check = "row-level security";

type Table = {
  readonly name: string;
  readonly is_there: boolean;
  readonly is_enabled: boolean;
  readonly is_forced: boolean;
  readonly has_policy: boolean;
  /** Policies that let the API's role see more. */
  readonly others: readonly string[];
};

/** Whether every table of organisations shows a transaction the rows of its organisation only. */
export async function checkRowLevelSecurity(client: Client): Promise<Finding[]> {
  const { rows } = await client.query<Table>(
    `select t.name, c.oid is not null as is_there, coalesce(c.relrowsecurity, false) as is_enabled,
            coalesce(c.relforcerowsecurity, false) as is_forced,
            exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'organisation'
                       and p.polpermissive and p.polcmd = '*' and r.oid = any (p.polroles)
                       and pg_get_expr(p.polqual, p.polrelid) like '%app.organisation%'
                       and pg_get_expr(p.polwithcheck, p.polrelid) like '%app.organisation%') as has_policy,
            array(select p.polname::text from pg_policy p
                   where p.polrelid = c.oid and p.polpermissive and p.polname <> 'organisation'
                     and (r.oid = any (p.polroles) or 0::oid = any (p.polroles)) order by 1) as others
       from unnest($1::text[]) t (name)
       left join pg_class c on c.oid = to_regclass('public.' || quote_ident(t.name))
       left join pg_roles r on r.rolname = 'kule_api'
      order by t.name`,
    [[...tenantTables]],
  );
  const of = (is: (table: Table) => boolean) => rows.filter(is).map(({ name }) => name);
  const missing = of(({ is_there }) => !is_there);
  const present = rows.filter(({ is_there }) => is_there);
  const disabled = present.filter(({ is_enabled }) => !is_enabled).map(({ name }) => name);
  const unforced = present.filter((each) => each.is_enabled && !each.is_forced).map(({ name }) => name);
  const without = present.filter(({ has_policy }) => !has_policy).map(({ name }) => name);
  const open = present.filter(({ others }) => others.length > 0);
  const findings = [
    missing.length > 0 ? [wrong(check, `no table ${someOf(missing)}`, "run `kule-server migrate`")] : [],
    disabled.length > 0
      ? [
          wrong(
            check,
            `off for ${someOf(disabled)}`,
            statements(disabled, (name) => `alter table ${name} enable row level security`),
          ),
        ]
      : [],
    unforced.length > 0
      ? [
          wrong(
            check,
            `does not bind the owner of ${someOf(unforced)}`,
            statements(unforced, (name) => `alter table ${name} force row level security`),
          ),
        ]
      : [],
    without.length > 0
      ? [
          wrong(
            check,
            `${someOf(without)} without its policy of organisations`,
            "restore it: packages/database/src/migrations/tenant-isolation.ts has its text; until then stop the API",
          ),
        ]
      : [],
    open.length > 0
      ? [
          wrong(
            check,
            `other policies open ${someOf(open.map(({ name }) => name))}`,
            statements(
              open.map(({ name, others }) => `${others[0]} on ${name}`),
              (policy) => `drop policy ${policy}`,
            ),
          ),
        ]
      : [],
  ].flat();
  return findings.length > 0
    ? findings
    : [good(check, `forced on all ${rows.length} tables of organisations`)];
}

const statements = (names: readonly string[], statement: (name: string) => string): string =>
  `as the owner: ${names.map(statement).join("; ")}`;
