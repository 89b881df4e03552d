import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { runMigrations } from "graphile-worker";
import pg from "pg";
import { type ApplyOptions, applyMigrations, MigrationBlocked } from "./apply-migrations.ts";
import { migrationOf } from "./migrations/migration-steps.ts";
import { migrations } from "./migrations/migrations.ts";
import { UnknownMigrations } from "./unknown-migrations.ts";
import { workerRights } from "./worker-rights.ts";

export type MigrateOptions = ApplyOptions & {
  /** The password of role `kule_api`. Without it, an existing password stays and a new role gets none. */
  readonly apiPassword?: string;
  /** The same for `kule_worker`. */
  readonly workerPassword?: string;
};

/**
 * Brings a database to this version of Kule: graphile-worker's schema, the roles `kule_api` and `kule_worker`, our tables
 * and rights.
 * Safe to run again, and from several machines at once: one works and the others wait for its end. Those of the release before
 * may work on meanwhile.
 *
 * @param ownerUrl a role that may create roles and extensions in this database; a connection of its own, not of a pooler
 * @returns the names of the migrations that were applied now
 * @throws UnknownMigrations when another build migrated the database; nothing has been changed then
 * @throws MigrationBlocked when others hold the locks that it needs, or another migration does not end
 */
export async function migrate(ownerUrl: string, options: MigrateOptions = {}): Promise<readonly string[]> {
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 3 });
  // A connection that breaks while idle must not end the process; the next query reports it.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  try {
    const client = await pool.connect();
    try {
      await untilAlone(client, options);
      await refuseUnknown(pool);
      await prepareRole(pool, "kule_api", options.apiPassword);
      await prepareRole(pool, "kule_worker", options.workerPassword);
      await runMigrations({ pgPool: pool });
      const applied = await applyMigrations(client, pool, migrations, options);
      await grantWorker(pool);
      await addMonths(pool);
      return applied;
    } finally {
      // With its lock and its settings.
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

/**
 * Until no other process migrates this database. It asks again and again: a statement that waits keeps an index that is made
 * concurrently from its end.
 */
async function untilAlone(
  client: pg.ClientBase,
  { tell, patienceMs = mostWaitMs }: ApplyOptions,
): Promise<void> {
  const startedAt = performance.now();
  for (let tries = 0; ; tries += 1) {
    const { rows } = await client.query<{ free: boolean }>("select pg_try_advisory_lock(7237000) as free");
    if (rows[0]?.free === true) return;
    if (tries === 0) tell?.("another process migrates this database: waiting for its end");
    if (performance.now() - startedAt > patienceMs)
      throw new MigrationBlocked("another process still migrates this database; run the command again");
    await delay(200);
  }
}

/** For the end of another migration, in milliseconds: as long as an index of a large table may take. */
const mostWaitMs = 60 * 60_000;

/** The last migration that this build knows; the readiness check compares it with the database's last one. */
export const latestMigration: string = [...migrations.keys()].at(-1) ?? "";

async function refuseUnknown(pool: pg.Pool): Promise<void> {
  const { rows: tables } = await pool.query("select to_regclass('kule_migration') is not null as found");
  if (!tables[0].found) return;
  const { rows } = await pool.query<{ name: string }>(
    "select name from kule_migration order by timestamp, name",
  );
  const unknown = rows.map(({ name }) => name).filter((name) => !migrations.has(migrationOf(name)));
  if (unknown.length > 0) throw new UnknownMigrations(unknown);
}

/**
 * Roles belong to the whole cluster, so the migration of another database may have created it already, or do so now.
 */
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

/** Runs under a lock, since a concurrent migration does the same: policies are created once. */
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

/**
 * For an installation whose worker has not run for long. Not while others use the tables: then the worker adds them, and rows have
 * a place in any case.
 */
async function addMonths(pool: pg.Pool): Promise<void> {
  for (const table of ["job_step", "audit"]) {
    await pool.query("select kule_extend_history($1, 3, 10000)", [table]).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== "55P03") throw error;
    });
  }
}
