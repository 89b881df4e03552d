import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@kule/database/migrate";
import { removePostgresData, startPostgres } from "@kule/postgres/launcher";
import type { FreshDatabase } from "@kule/testing/database";
import { withDatabase } from "@kule/testing/database-broker";
import pg from "pg";

/** The text of a statement of the API without its values, and how often it ran. */
export type LoggedStatement = { readonly text: string; readonly calls: number; readonly topLevel: boolean };

export type LoggingDatabase = {
  readonly database: FreshDatabase;
  /**
   * Everything that Postgres ran for the role kule_api, including statements of functions and foreign keys.
   *
   * @throws Error when Postgres has dropped some
   */
  statements(): Promise<LoggedStatement[]>;
  stop(): Promise<void>;
};

const capacity = 20_000;

/** A Postgres of its own that records every statement (pg_stat_statements), with a migrated database. */
export async function startLoggingDatabase(): Promise<LoggingDatabase> {
  const directory = mkdtempSync(join(tmpdir(), "kule-statements-"));
  // The account that Postgres runs under must pass.
  chmodSync(directory, 0o755);
  const dataDir = join(directory, "postgres");
  const postgres = await startPostgres({
    dataDir,
    settings: {
      fsync: "off",
      full_page_writes: "off",
      shared_preload_libraries: "pg_stat_statements",
      "pg_stat_statements.max": capacity,
      "pg_stat_statements.track": "all",
      "pg_stat_statements.save": "off",
      // Longer queries would be distinguished by more than their texts.
      track_activity_query_size: 65_536,
    },
    log: () => {},
  });
  const apiPassword = randomBytes(16).toString("hex");
  const ownerUrl = withDatabase(postgres.ownerUrl, "kule");
  await migrate(ownerUrl, { apiPassword, workerPassword: apiPassword });
  const owner = new pg.Client({ connectionString: ownerUrl });
  owner.on("error", () => {});
  await owner.connect();
  await owner.query("create extension pg_stat_statements");
  await owner.query("select pg_stat_statements_reset()");
  const api = new URL(ownerUrl);
  api.username = "kule_api";
  api.password = apiPassword;
  const worker = new URL(api);
  worker.username = "kule_worker";
  return {
    database: { ownerUrl, apiUrl: api.href, workerUrl: worker.href, name: "kule", drop: async () => {} },
    async statements() {
      const { rows: info } = await owner.query<{ dealloc: string }>(
        "select dealloc from pg_stat_statements_info",
      );
      if (info[0]?.dealloc !== "0")
        throw new Error("Postgres saw more different statements than it can keep");
      const { rows } = await owner.query<LoggedStatement>(
        `select query as text, sum(calls)::integer as calls, toplevel as "topLevel"
           from pg_stat_statements s join pg_database d on d.oid = s.dbid
          where d.datname = current_database() and (userid = 'kule_api'::regrole or not toplevel)
          group by query, toplevel order by query`,
      );
      return rows;
    },
    async stop() {
      await owner.end();
      await postgres.stop();
      removePostgresData(dataDir);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
