import { tenantTables } from "@kule/database/tenant-tables";
import type { Client } from "pg";
import { type Finding, good, someOf, wrong } from "./finding.ts";

type Role = {
  readonly name: string;
  readonly powers: readonly string[];
  readonly memberships: readonly string[];
};

/** A right that a role has or lacks, as an SQL condition on the present role. */
type Right = { readonly what: string; readonly sql: string };

const on = (table: string, right: string): string =>
  `coalesce(has_table_privilege(to_regclass('public.${table}'), '${right}'), false)`;
const onAnyColumn = (table: string, right: string): string =>
  `coalesce(has_any_column_privilege(to_regclass('public.${table}'), '${right}'), false)`;
const onColumn = (table: string, column: string, right: string): string =>
  `coalesce(has_column_privilege(to_regclass('public.${table}'), '${column}', '${right}'), false)`;

/** What would let a stolen connection undo what the database enforces (docs/runbooks/database-roles.md). */
const neverOfApi: readonly Right[] = [
  { what: "change the audit trail", sql: onAnyColumn("audit", "update") },
  {
    what: "remove entries of the audit trail",
    sql: `${on("audit", "delete")} or ${on("audit", "truncate")}`,
  },
  { what: "make a person an operator", sql: onColumn("app_user", "is_operator", "update") },
  { what: "read the hashes of passwords", sql: onColumn("app_user", "password_hash", "select") },
  { what: "remove tokens", sql: on("token", "delete") },
];
const neverOfWorker: readonly Right[] = [
  { what: "change the audit trail", sql: onAnyColumn("audit", "update") },
  {
    what: "remove entries of the audit trail",
    sql: `${on("audit", "delete")} or ${on("audit", "truncate")}`,
  },
  { what: "change servers", sql: onAnyColumn("server", "update") },
  { what: "make a person an operator", sql: onColumn("app_user", "is_operator", "update") },
  { what: "read the hashes of passwords", sql: onColumn("app_user", "password_hash", "select") },
  { what: "write tokens", sql: `${on("token", "insert")} or ${onAnyColumn("token", "update")}` },
];

const neededByApi: readonly Right[] = [
  ...tenantTables.map((table) => ({ what: `read ${table}`, sql: onAnyColumn(table, "select") })),
  { what: "write to the audit trail", sql: onAnyColumn("audit", "insert") },
  { what: "read region", sql: onAnyColumn("region", "select") },
  { what: "use the schema public", sql: "has_schema_privilege('public', 'usage')" },
];
const neededByWorker: readonly Right[] = [
  { what: "use the schema graphile_worker", sql: "has_schema_privilege('graphile_worker', 'usage')" },
  { what: "write worker_process", sql: on("worker_process", "insert") },
  { what: "read server", sql: onAnyColumn("server", "select") },
  { what: "read job", sql: onAnyColumn("job", "select") },
];

export async function checkApiRole(client: Client): Promise<Finding[]> {
  return checkRole(client, {
    check: "role of the API",
    name: "kule_api",
    variable: "KULE_DATABASE_URL",
    never: neverOfApi,
    needed: neededByApi,
    restore:
      "a restore without privileges (pg_restore --no-acl) loses them: restore it with them, or grant them as the owner",
  });
}

export async function checkWorkerRole(client: Client): Promise<Finding[]> {
  return checkRole(client, {
    check: "role of the worker",
    name: "kule_worker",
    variable: "KULE_WORKER_DATABASE_URL",
    never: neverOfWorker,
    needed: neededByWorker,
    restore: "run `kule-server migrate`, which grants them again",
  });
}

type Expected = {
  readonly check: string;
  readonly name: string;
  readonly variable: string;
  readonly never: readonly Right[];
  readonly needed: readonly Right[];
  /** How missing rights come back. */
  readonly restore: string;
};

async function checkRole(client: Client, expected: Expected): Promise<Finding[]> {
  const { check, name, variable } = expected;
  const role = await roleOf(client);
  const findings: Finding[] = [];
  if (role.powers.length > 0)
    findings.push(
      wrong(
        check,
        `${role.name} ${role.powers.join(", ")}: what the database enforces does not bind it`,
        role.name === name
          ? `as the owner: alter role ${name} nosuperuser nobypassrls nocreaterole nocreatedb noreplication; what it owns belongs to the owner: reassign owned by ${name} to <owner>`
          : `give ${variable} the URL of ${name}, whose password \`kule-server migrate\` sets`,
      ),
    );
  if (role.memberships.length > 0)
    findings.push(
      wrong(
        check,
        `${role.name} is a member of ${someOf(role.memberships)}`,
        `as the owner: revoke ${role.memberships[0]} from ${role.name}`,
      ),
    );
  if (role.name !== name && findings.length === 0)
    findings.push(
      wrong(check, `${variable} is of ${role.name}, which has no rights here`, `give it the URL of ${name}`),
    );
  // A strong role has every right; its own finding says so.
  if (role.powers.length > 0) return findings;

  const tooMany = await rightsOf(client, expected.never, true);
  if (tooMany.length > 0)
    findings.push(
      wrong(
        check,
        `${role.name} may ${someOf(tooMany)}`,
        `as the owner, revoke what was granted by hand (\\dp in psql shows it); also what public may: \\dp of the table without a name before =`,
      ),
    );
  const missing = await rightsOf(client, expected.needed, false);
  if (missing.length > 0 && role.name === name)
    findings.push(wrong(check, `${role.name} may not ${someOf(missing)}`, expected.restore));
  return findings.length > 0 ? findings : [good(check, `${role.name}, with its own rights only`)];
}

async function roleOf(client: Client): Promise<Role> {
  const { rows } = await client.query<{
    name: string;
    rolsuper: boolean;
    rolbypassrls: boolean;
    rolcreaterole: boolean;
    rolcreatedb: boolean;
    rolreplication: boolean;
    owns: boolean;
    memberships: string[];
  }>(
    `select current_user::text as name, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication,
            exists (select from pg_class c where c.relnamespace = 'public'::regnamespace and c.relowner = r.oid) as owns,
            array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid
                   where m.member = r.oid order by 1) as memberships
       from pg_roles r where rolname = current_user`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error("Postgres does not say who we are");
  const powers = [
    row.rolsuper ? ["is a superuser"] : [],
    row.owns ? ["owns tables"] : [],
    row.rolbypassrls ? ["bypasses row-level security"] : [],
    row.rolcreaterole ? ["may create roles"] : [],
    row.rolcreatedb ? ["may create databases"] : [],
    row.rolreplication ? ["may replicate"] : [],
  ].flat();
  return { name: row.name, powers, memberships: row.memberships };
}

async function rightsOf(client: Client, rights: readonly Right[], given: boolean): Promise<string[]> {
  const columns = rights.map(({ sql }, index) => `(${sql}) as r${index}`).join(", ");
  const { rows } = await client.query<Record<string, boolean>>(`select ${columns}`);
  return rights.filter((_, index) => rows[0]?.[`r${index}`] === given).map(({ what }) => what);
}
