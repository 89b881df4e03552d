import type { DB } from "@kule/database/generated/rows";
import type { Hono } from "hono";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { createApp } from "../../app.ts";
import { notePool } from "../../platform/database.ts";
import { createLog } from "../../platform/log.ts";
import { openDeps } from "../../platform/open-deps.ts";
import { type ApiWorld, testSettings } from "../api-world.ts";

export type Defences = {
  /** organisation_id in every query: the first line. */
  readonly filters: boolean;
  /** Row-level security in every mutation: the second line. */
  readonly rowLevelSecurity: boolean;
};

export type MutantApp = {
  readonly app: Hono;
  /** How many queries in transactions lost their filter: those of mutations, which row-level security is for. */
  stripped(): number;
  close(): Promise<void>;
};

/** The same API over the same database with defences removed: a proof of them must detect it. */
export async function openMutantApp(world: ApiWorld, defences: Defences): Promise<MutantApp> {
  const { apiUrl, ownerUrl } = world.database;
  // The owner of the tables has a policy of its own that allows everything.
  const url = defences.rowLevelSecurity ? apiUrl : ownerUrl;
  const open = await openDeps({ ...testSettings(url), testBuild: false }, createLog("silent"));
  let stripped = 0;

  class StrippingClient extends pg.Client {
    #inTransaction = false;

    // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg cannot be restated
    override query(...args: any[]): any {
      const [text, ...rest] = args;
      if (typeof text !== "string") return super.query(...(args as [string]));
      if (text === "begin") this.#inTransaction = true;
      if (text === "commit" || text === "rollback") this.#inTransaction = false;
      const bare = text.replaceAll(
        /(?:"?\w+"?\.)?"?organisation_id"? = (\$\d+)/g,
        (_whole, parameter: string) => `(${parameter}::text is not null)`,
      );
      if (bare !== text && this.#inTransaction) stripped += 1;
      return super.query(bare, ...(rest as []));
    }
  }
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    Client: StrippingClient,
    pipeline: true,
  } as pg.PoolConfig);
  pool.on("error", () => {});
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  notePool(db, { connect: () => pool.connect(), plugins: [] });
  return {
    app: createApp({ ...open.deps, ...(defences.filters ? {} : { db }) }),
    stripped: () => stripped,
    async close() {
      await db.destroy();
      await open.close();
    },
  };
}
