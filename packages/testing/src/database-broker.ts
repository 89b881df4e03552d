import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkServer } from "@kule/postgres/external";
import { removePostgresData, startPostgres } from "@kule/postgres/launcher";
import { Client } from "pg";

/** Environment variable with the broker's unix socket, for the workers of a run. */
export const brokerVariable = "KULE_TEST_DATABASE_BROKER";

/** Everything that a worker needs to clone a database for itself. */
export interface TemplateDatabase {
  /** Connection string of the owner to a database that is never a template. */
  adminUrl: string;
  template: string;
  apiRole: string;
  apiPassword: string;
  workerPassword: string;
}

export interface DatabaseBroker {
  stop(): Promise<void>;
}

/** Brings an empty database to the newest schema and sets the passwords of the roles `kule_api` and `kule_worker`. */
export type Migrate = (
  ownerUrl: string,
  options: { apiPassword: string; workerPassword: string },
) => Promise<unknown>;

interface Source {
  database: TemplateDatabase;
  end(): Promise<void>;
}

/**
 * Serves one migrated template database to all workers of a test run or benchmark. Postgres starts with the
 * first request, so runs without a database stay quick. KULE_TEST_DATABASE_URL names a Postgres to use
 * instead of the embedded one (its role `kule_api` gets a new password).
 */
export async function startDatabaseBroker(migrate: () => Promise<Migrate>): Promise<DatabaseBroker> {
  const directory = mkdtempSync(join(tmpdir(), "kule-test-"));
  // The account that Postgres runs under must pass.
  chmodSync(directory, 0o755);
  const socketPath = join(directory, "broker.sock");
  let source: Promise<Source> | undefined;

  const server = createServer((socket) => {
    socket.on("error", () => {});
    source ??= prepare(join(directory, "postgres"), migrate);
    source.then(
      ({ database }) => socket.end(JSON.stringify({ database })),
      (error: Error) => socket.end(JSON.stringify({ error: error.stack ?? error.message })),
    );
  });
  await listen(server, socketPath);
  process.env[brokerVariable] = socketPath;

  return {
    async stop() {
      delete process.env[brokerVariable];
      await new Promise((closed) => server.close(closed));
      await (await source?.catch(() => undefined))?.end();
      removePostgresData(join(directory, "postgres"));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
}

async function prepare(dataDir: string, loadMigrate: () => Promise<Migrate>): Promise<Source> {
  const external = process.env.KULE_TEST_DATABASE_URL;
  if (external !== undefined && external !== "") {
    await checkServer(external);
    return makeTemplate(external, await loadMigrate(), async () => {});
  }
  const postgres = await startPostgres({
    dataDir,
    // Nothing here outlives the run, so the disk need not be waited for; commits are ordered all the same.
    // The passwords are random, and thousands of connections are opened: one round of their hash is enough.
    settings: {
      ...{ fsync: "off", full_page_writes: "off", max_wal_size: "4GB", checkpoint_timeout: "1h" },
      scram_iterations: "1",
    },
    log: () => {},
  });
  try {
    return await makeTemplate(postgres.ownerUrl, await loadMigrate(), () => postgres.stop());
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

async function makeTemplate(adminUrl: string, migrate: Migrate, stop: () => Promise<void>): Promise<Source> {
  const template = `kule_template_${randomBytes(4).toString("hex")}`;
  const apiPassword = randomBytes(16).toString("hex");
  const workerPassword = randomBytes(16).toString("hex");
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`create database ${template} template template0 encoding 'UTF8'`);
    await migrate(withDatabase(adminUrl, template), { apiPassword, workerPassword });
    await admin.query(`alter database ${template} with allow_connections false`);
  } finally {
    await admin.end();
  }
  return {
    database: { adminUrl, template, apiRole: "kule_api", apiPassword, workerPassword },
    async end() {
      const client = new Client({ connectionString: adminUrl });
      await client.connect();
      // With what was seeded from it: an external Postgres outlives the run.
      const { rows } = await client.query<{ datname: string }>(
        "select datname from pg_database where starts_with(datname, $1)",
        [template],
      );
      for (const { datname } of rows)
        await client.query(`drop database if exists ${client.escapeIdentifier(datname)} with (force)`);
      await client.end();
      await stop();
    },
  };
}

/** The same connection string with another database name. */
export function withDatabase(connectionString: string, database: string): string {
  const url = new URL(connectionString);
  url.pathname = `/${database}`;
  return url.href;
}
