import { randomBytes } from "node:crypto";
import { runMigrations } from "graphile-worker";
import { Kysely, PostgresDialect, sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import pg from "pg";
import { identity } from "./migrations/0001-identity.ts";
import { resources } from "./migrations/0002-resources.ts";
import { jobs } from "./migrations/0003-jobs.ts";
import { rights } from "./migrations/0004-rights.ts";
import { commitChecks } from "./migrations/0005-commit-checks.ts";
import { serverOperations } from "./migrations/0006-server-operations.ts";
import { inventory } from "./migrations/0007-inventory.ts";
import { publicIps } from "./migrations/0008-public-ips.ts";
import { consoles } from "./migrations/0009-consoles.ts";
import { usageAndQuotas } from "./migrations/0010-usage-quotas.ts";
import { publicIpWaiting } from "./migrations/0011-public-ip-waiting.ts";
import { regionGrowth } from "./migrations/0012-region-growth.ts";
import { usageOnce } from "./migrations/0013-usage-once.ts";
import { rebootSince } from "./migrations/0014-reboot-since.ts";
import { sshKeyUse } from "./migrations/0015-ssh-key-use.ts";
import { consoleActivity } from "./migrations/0016-console-activity.ts";
import { firewalls } from "./migrations/0020-firewalls.ts";
import { networkApply } from "./migrations/0021-network-apply.ts";
import { gateways } from "./migrations/0022-gateways.ts";
import { firewallQuotas } from "./migrations/0027-firewall-quotas.ts";
import { filterDigest } from "./migrations/0028-filter-digest.ts";
import { reservations } from "./migrations/0031-reservations.ts";
import { sessions } from "./migrations/0032-sessions.ts";
import { secondFactor } from "./migrations/0033-second-factor.ts";
import { passkeys } from "./migrations/0034-passkeys.ts";
import { invitations } from "./migrations/0038-invitations.ts";
import { auditFilters } from "./migrations/0039-audit-filters.ts";
import { stuckJobs } from "./migrations/0040-stuck-jobs.ts";
import { identities } from "./migrations/0041-identities.ts";
import { memberQuota } from "./migrations/0042-member-quota.ts";
import { operatorsEntry } from "./migrations/0045-operators-entry.ts";
import { passwordResets } from "./migrations/0046-password-resets.ts";
import { mails } from "./migrations/0047-mails.ts";
import { workerPresence } from "./migrations/0048-worker-presence.ts";
import { auditSeals } from "./migrations/0049-audit-seals.ts";
import { operatorsRights } from "./migrations/0049-operators-rights.ts";
import { agentKey } from "./migrations/0050-agent-key.ts";
import { regionBounds } from "./migrations/0051-region-bounds.ts";
import { signInRights } from "./migrations/0052-sign-in-rights.ts";
import { operatorJobs } from "./migrations/0058-operator-jobs.ts";
import { workerRights } from "./worker-rights.ts";

/** Forward only, in this order for ever: a migration that has been released is never edited. */
const migrations: Record<string, Migration> = {
  "0001-identity": step(identity),
  "0002-resources": step(resources),
  "0003-jobs": step(jobs),
  "0004-rights": step(rights),
  "0005-commit-checks": step(commitChecks),
  "0006-server-operations": step(serverOperations),
  "0007-inventory": step(inventory),
  "0008-public-ips": step(publicIps),
  "0009-consoles": step(consoles),
  "0010-usage-quotas": step(usageAndQuotas),
  "0011-public-ip-waiting": step(publicIpWaiting),
  "0012-region-growth": step(regionGrowth),
  "0013-usage-once": step(usageOnce),
  "0014-reboot-since": step(rebootSince),
  "0015-ssh-key-use": step(sshKeyUse),
  "0016-console-activity": step(consoleActivity),
  "0020-firewalls": step(firewalls),
  "0021-network-apply": step(networkApply),
  "0022-gateways": step(gateways),
  "0027-firewall-quotas": step(firewallQuotas),
  "0028-filter-digest": step(filterDigest),
  "0031-reservations": step(reservations),
  "0032-sessions": step(sessions),
  "0033-second-factor": step(secondFactor),
  "0034-passkeys": step(passkeys),
  "0038-invitations": step(invitations),
  "0039-audit-filters": step(auditFilters),
  "0040-stuck-jobs": step(stuckJobs),
  "0041-identities": step(identities),
  "0042-member-quota": step(memberQuota),
  "0045-operators-entry": step(operatorsEntry),
  "0046-password-resets": step(passwordResets),
  "0047-mails": step(mails),
  "0048-worker-presence": step(workerPresence),
  "0049-rights-and-seals": step(auditSeals + operatorsRights),
  "0050-agent-key": step(agentKey),
  "0051-region-bounds": step(regionBounds),
  "0052-sign-in-rights": step(signInRights),
  "0058-operator-jobs": step(operatorJobs),
};

export type MigrateOptions = {
  /** Set as the password of role `kule_api`. Left out, an existing password stays and a new role gets none to use. */
  readonly apiPassword?: string;
  /** The same for `kule_worker`. */
  readonly workerPassword?: string;
};

/**
 * Brings a database to this version of Kule: graphile-worker's schema, the roles `kule_api` and `kule_worker`, our tables
 * and rights.
 * Safe to run again and from several processes at once.
 *
 * @param ownerUrl a role that may create roles and extensions in this database
 * @returns the names of the migrations that were applied now
 */
export async function migrate(ownerUrl: string, options: MigrateOptions = {}): Promise<readonly string[]> {
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 2 });
  // A connection that breaks while idle must not end the process; the next query reports it.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  try {
    await prepareRole(pool, "kule_api", options.apiPassword);
    await prepareRole(pool, "kule_worker", options.workerPassword);
    await runMigrations({ pgPool: pool });
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => migrations },
      migrationTableName: "kule_migration",
      migrationLockTableName: "kule_migration_lock",
    });
    const { error, results } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
    await grantWorker(pool);
    return (results ?? [])
      .filter((result) => result.status === "Success")
      .map((result) => result.migrationName);
  } finally {
    await pool.end();
  }
}

/** How many migrations this build knows; readiness compares it with what the database has. */
export const latestMigration: string = Object.keys(migrations).at(-1) ?? "";

function step(statements: string): Migration {
  return { up: async (db) => void (await sql.raw(statements).execute(db)) };
}

/** Roles belong to the whole cluster, so another database of it may have made this one already, or be making it. */
async function prepareRole(
  pool: pg.Pool,
  role: "kule_api" | "kule_worker",
  given: string | undefined,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock(7237001)");
    const { rowCount } = await client.query("select 1 from pg_roles where rolname = $1", [role]);
    if (rowCount === 0) {
      await client.query(`create role ${role} login nosuperuser nocreatedb nocreaterole noinherit`);
    }
    if (given !== undefined || rowCount === 0) {
      const password = given ?? randomBytes(24).toString("base64url");
      await client.query(`alter role ${role} password ${client.escapeLiteral(password)}`);
    }
    await client.query(
      `do $$ begin execute format('grant connect on database %I to ${role}', current_database()); end $$`,
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

/** Beside another one that does the same: policies are made once. */
async function grantWorker(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock(7237002)");
    await client.query(workerRights);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}
