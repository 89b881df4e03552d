import { Client } from "pg";
import { PostgresError } from "./errors.ts";

const oldestServerVersion = 150_000;

/**
 * Checks whether a Postgres given by its connection string is suitable for Kule, and reports everything that
 * is wrong at once: PostgreSQL 15 or newer, UTF8, the extension btree_gist, a role that may create roles and
 * databases.
 *
 * @throws PostgresError `unsuitable_server`, also when it cannot be reached.
 */
export async function checkServer(ownerUrl: string): Promise<{ serverVersion: string }> {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 10_000 });
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (cause) {
    throw new PostgresError(
      "unsuitable_server",
      `Cannot connect to ${withoutPassword(ownerUrl)}: ${(cause as Error).message}`,
      { cause },
    );
  }
  try {
    const { rows } = await client.query<Facts>(`
      select current_setting('server_version_num')::int as version_number,
             current_setting('server_version') as version,
             current_setting('server_encoding') as encoding,
             exists (select from pg_available_extensions where name = 'btree_gist') as has_btree_gist,
             rolsuper or rolcreaterole as may_create_roles,
             rolsuper or rolcreatedb as may_create_databases,
             current_user as role
        from pg_roles where rolname = current_user`);
    const facts = rows[0];
    if (facts === undefined)
      throw new PostgresError("unsuitable_server", "the server does not know its own user");
    const findings = findFaults(facts);
    if (findings.length > 0) {
      throw new PostgresError("unsuitable_server", `${withoutPassword(ownerUrl)}: ${findings.join("; ")}.`);
    }
    return { serverVersion: facts.version };
  } finally {
    await client.end();
  }
}

interface Facts {
  version_number: number;
  version: string;
  encoding: string;
  has_btree_gist: boolean;
  may_create_roles: boolean;
  may_create_databases: boolean;
  role: string;
}

function findFaults(facts: Facts): string[] {
  const faults: string[] = [];
  if (facts.version_number < oldestServerVersion) {
    faults.push(`PostgreSQL ${facts.version} is too old, 15 or newer is needed`);
  }
  if (facts.encoding !== "UTF8") faults.push(`the database is encoded in ${facts.encoding}, UTF8 is needed`);
  if (!facts.has_btree_gist)
    faults.push("the extension btree_gist is not installed (package postgresql-contrib)");
  if (!facts.may_create_roles)
    faults.push(`the role ${facts.role} may not create roles (alter role … createrole)`);
  if (!facts.may_create_databases) {
    faults.push(`the role ${facts.role} may not create databases (alter role … createdb)`);
  }
  return faults;
}

function withoutPassword(connectionString: string): string {
  return connectionString.replace(/\/\/([^:@/]*):[^@/]*@/, "//$1:***@");
}
