import { stdout } from "node:process";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import { type Database, openDatabase } from "../platform/database.ts";
import { BadSettings, readSettings } from "../platform/settings.ts";
import { jobHandlers } from "../products/job-handlers.ts";
import { markRestored } from "../restored/mark-restored.ts";

/** The roles of the processes that must not run meanwhile. */
const roles = ["kule_api", "kule_worker"] as const;

/**
 * After a restore of the database from a backup and before the start: see docs/runbooks/backup-and-restore.md. Prints what
 * it has done as one line of JSON.
 */
export async function restoredCommand(
  environment: Readonly<Record<string, string | undefined>>,
  options: readonly string[],
): Promise<void> {
  const url = environment.KULE_OWNER_DATABASE_URL;
  if (url === undefined || url === "")
    throw new BadSettings("KULE_OWNER_DATABASE_URL is not set: only the owner of the tables marks a restore");
  const { values } = parseArgs({
    args: [...options],
    options: { "end-tokens": { type: "boolean", default: false } },
  });
  // The ends of jobs are settled as the API does.
  const settings = readSettings({ ...environment, KULE_DATABASE_URL: url });
  const { db, close } = openDatabase({
    url,
    poolSize: 2,
    guardTenants: false,
    // Of all jobs and networks in one transaction.
    statementTimeoutMs: 600_000,
  });
  try {
    await refuseWhileRunning(db);
    const marked = await markRestored(db, {
      handlers: jobHandlers,
      settings,
      endsTokens: values["end-tokens"],
    });
    stdout.write(`${JSON.stringify(marked)}\n`);
  } finally {
    await close();
  }
}

/** What runs would go on with what it knows, and hand out jobs and numbers meanwhile. */
async function refuseWhileRunning(db: Database): Promise<void> {
  const { rows } = await sql<{ connections: number }>`
    select count(*)::integer as connections from pg_stat_activity
     where datname = current_database() and usename = any (${[...roles]}::text[])`.execute(db);
  const connections = rows[0]?.connections ?? 0;
  if (connections > 0)
    throw new BadSettings(
      `the API or the worker is connected to this database (${connections} connections of kule_api and kule_worker): stop them on all machines first`,
    );
}
