import type { Client } from "pg";
import { apiSources } from "./api-sources.ts";

/** A question to the catalogue whose right answer is no row; each row names what is wrong. */
type Question = { readonly finding: (subject: string) => string; readonly sql: string };

/** Under the first line only, each with why (ADR 0004). The list may only shrink. */
const firstLineOnly: { readonly [table: string]: string } = {
  audit: "holds rows of no organisation too",
  audit_break: "holds what was found about rows of no organisation too",
  idempotency_key: "holds rows of no organisation too",
  region_organisation: "says which organisations see a region; operators write it",
  token: "holds rows of no organisation too, and says itself which one it is of",
};

const questions: readonly Question[] = [
  {
    finding: (attribute) => `kule_api ${attribute}`,
    sql: `select unnest(array_remove(array[case when rolsuper then 'is a superuser' end, case when rolbypassrls then 'passes row-level security' end,
            case when rolcreaterole then 'may make roles' end, case when rolcreatedb then 'may make databases' end,
            case when rolreplication then 'may replicate' end], null)) as subject from pg_roles where rolname = 'kule_api'
          union all select 'does not exist' where not exists (select from pg_roles where rolname = 'kule_api')`,
  },
  {
    finding: (name) => `kule_api owns ${name}`,
    sql: `select relname::text as subject from pg_class where relowner = 'kule_api'::regrole
          union all select proname from pg_proc where proowner = 'kule_api'::regrole
          union all select nspname from pg_namespace where nspowner = 'kule_api'::regrole
          union all select datname from pg_database where datdba = 'kule_api'::regrole`,
  },
  {
    finding: (name) => `kule_api is a member of ${name}`,
    sql: "select roleid::regrole::text as subject from pg_auth_members where member = 'kule_api'::regrole",
  },
  {
    finding: (name) => `kule_api may create in ${name}`,
    sql: `select nspname::text as subject from pg_namespace
           where nspname !~ '^pg_(temp|toast)' and has_schema_privilege('kule_api', oid, 'create')
          union all select datname from pg_database where datname = current_database() and has_database_privilege('kule_api', oid, 'create')`,
  },
  {
    finding: (name) => `kule_api may do something with graphile-worker's ${name}`,
    sql: `select relname::text as subject from pg_class where relnamespace = 'graphile_worker'::regnamespace and relkind in ('r', 'v')
             and has_schema_privilege('kule_api', relnamespace, 'usage')
             and has_table_privilege('kule_api', oid, 'select, insert, update, delete')`,
  },
  {
    finding: (name) => `the trail of ${name} can be changed by kule_api`,
    sql: `select name as subject from unnest(array['audit', 'usage_event']) name
           where has_table_privilege('kule_api', name, 'update, delete, truncate')`,
  },
  {
    finding: (name) => `${name}, which is derived, can be written by kule_api`,
    sql: `select name as subject from unnest(array['usage_segment', 'usage_balance']) name
           where has_table_privilege('kule_api', name, 'insert, update, delete, truncate')`,
  },
  {
    finding: (name) => `${name} passes row-level security: it is a view with its owner's rights`,
    sql: `select relname::text as subject from pg_class
           where relnamespace = 'public'::regnamespace and relkind in ('v', 'm')
             and (relkind = 'm' or not coalesce('security_invoker=true' = any (reloptions), false))`,
  },
  {
    finding: (name) => `${name} runs with its owner's rights and no pinned search path`,
    sql: `select proname::text as subject from pg_proc
           where pronamespace = 'public'::regnamespace and prosecdef
             and not exists (select from unnest(proconfig) setting where setting like 'search_path=%pg_temp')`,
  },
  {
    finding: (name) => `everybody may execute ${name}, which runs with its owner's rights`,
    sql: `select proname::text as subject from pg_proc
           where pronamespace = 'public'::regnamespace and prosecdef and has_function_privilege('public', oid, 'execute')`,
  },
  {
    finding: (name) => `${name} sets the organisation for a whole session`,
    sql: `select proname::text as subject from pg_proc
           where pronamespace = 'public'::regnamespace and prosrc ~* 'set_config\\s*\\([^)]*false\\s*\\)|set\\s+(session\\s+)?app\\.'`,
  },
];

const tableQuestion = `
  select c.relname::text as table, c.relrowsecurity as secured, c.relforcerowsecurity as forced,
         (select count(*)::integer from pg_policy p where p.polrelid = c.oid and p.polpermissive and p.polcmd = '*'
             and p.polroles = array['kule_api'::regrole::oid]
             and pg_get_expr(p.polqual, c.oid) ~ 'organisation_id = current_setting'
             and pg_get_expr(p.polwithcheck, c.oid) ~ 'organisation_id = current_setting') as policies,
         (select count(*)::integer from pg_policy p where p.polrelid = c.oid
             and (0 = any (p.polroles) or 'kule_api'::regrole = any (p.polroles))) as reaching
    from pg_class c join pg_attribute a on a.attrelid = c.oid
   where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'organisation_id'
     -- What kule_api has no right to, not even to a column, needs no policy for it.
     and (has_table_privilege('kule_api', c.oid, 'select, insert, update, delete, truncate, references, trigger')
          or has_any_column_privilege('kule_api', c.oid, 'select, insert, update, references'))
   order by 1`;

export type CatalogueAudit = {
  readonly checks: number;
  /** Tables with organisation_id that kule_api has a right to, and those of them that are under row-level security. */
  readonly tables: number;
  readonly secured: readonly string[];
  readonly violations: readonly string[];
};

/** The rights in the database, and which tables are under row-level security, read from the catalogue. */
export async function auditCatalogue(owner: Client): Promise<CatalogueAudit> {
  const violations: string[] = [];
  for (const { sql, finding } of questions) {
    const { rows } = await owner.query<{ subject: string }>(sql);
    violations.push(...rows.map(({ subject }) => finding(subject)));
  }
  const { rows: tables } = await owner.query<{
    table: string;
    secured: boolean;
    forced: boolean;
    policies: number;
    reaching: number;
  }>(tableQuestion);
  const secured: string[] = [];
  for (const { table, ...of } of tables) {
    if (firstLineOnly[table] !== undefined) {
      if (of.secured)
        violations.push(`${table} is under row-level security: take it from the list of exemptions`);
      continue;
    }
    secured.push(table);
    if (!of.secured) violations.push(`${table} is not under row-level security`);
    if (!of.forced) violations.push(`${table} does not force row-level security on its owner`);
    if (of.policies !== 1 || of.reaching !== 1)
      violations.push(
        `${table} has ${of.policies} policies of the right shape among ${of.reaching} that reach kule_api`,
      );
  }
  const gone = Object.keys(firstLineOnly).filter((name) => !tables.some(({ table }) => table === name));
  violations.push(...gone.map((name) => `${name} is exempted and not there`));
  const sources = sessionSettings();
  violations.push(...sources.violations);
  return {
    checks: questions.length + tables.length * 3 + sources.files,
    tables: tables.length,
    secured,
    violations,
  };
}

/** Sources of the API that set the organisation for longer than a transaction: the next user of the pool would have it. */
function sessionSettings(): { files: number; violations: string[] } {
  const sources = apiSources();
  const violations: string[] = [];
  let calls = 0;
  for (const { file, text } of sources) {
    for (const [call] of text.matchAll(/set_config\([^`]*?\)/g)) {
      calls += 1;
      if (!/,\s*true\s*\)$/.test(call))
        violations.push(`${file} sets the organisation for a whole session: ${call}`);
    }
    if (/\bset\s+(session\s+)?app\./i.test(text))
      violations.push(`${file} sets the organisation for a whole session`);
  }
  if (calls === 0) violations.push("no source of the API sets the organisation of a transaction");
  return { files: sources.length, violations };
}
