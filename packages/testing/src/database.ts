import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Client } from "pg";
import { brokerVariable, type TemplateDatabase, withDatabase } from "./database-broker.ts";

export interface FreshDatabase {
  /** Connection string of the owner, who migrates and owns the tables. */
  ownerUrl: string;
  /** Connection string of `kule_api`, which is neither owner nor superuser. */
  apiUrl: string;
  /** Connection string of `kule_worker`. */
  workerUrl: string;
  name: string;
  /** Ends all connections to it and removes it. */
  drop(): Promise<void>;
}

let template: Promise<TemplateDatabase> | undefined;

/**
 * Clones the migrated template into a new database; call it once per test file and `drop` it afterwards. It is
 * a real Postgres, shared by the whole run and started by the first call.
 *
 * @throws Error outside a run that has a database broker (`vitest`, `npm run bench`).
 */
export async function freshDatabase(): Promise<FreshDatabase> {
  template ??= askBroker();
  const source = await template;
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  await administer(source, `create database ${name} template ${source.template}`);
  const api = new URL(withDatabase(source.adminUrl, name));
  api.username = source.apiRole;
  api.password = source.apiPassword;
  const worker = new URL(api);
  worker.username = "kule_worker";
  worker.password = source.workerPassword;
  return {
    ownerUrl: withDatabase(source.adminUrl, name),
    apiUrl: api.href,
    workerUrl: worker.href,
    name,
    drop: () => administer(source, `drop database if exists ${name} with (force)`),
  };
}

async function administer(source: TemplateDatabase, statement: string): Promise<void> {
  const client = new Client({ connectionString: source.adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function askBroker(): Promise<TemplateDatabase> {
  const path = process.env[brokerVariable];
  if (path === undefined) {
    throw new Error(
      `${brokerVariable} is not set: run this by vitest at the root, or call startDatabaseBroker first`,
    );
  }
  const answer = JSON.parse(await text(connect(path))) as { database: TemplateDatabase } | { error: string };
  if ("error" in answer) throw new Error(`the test database could not be prepared: ${answer.error}`);
  return answer.database;
}
