import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@kule/database/migrate";
import { findFreePort } from "@kule/postgres/free-port";
import { type RunningPostgres, removePostgresData, startPostgres } from "@kule/postgres/launcher";
import { sql } from "kysely";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../app.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { firstOperatorToken, testSettings } from "../testing/api-world.ts";
import { openDatabase, systemQuery } from "./database.ts";
import { DatabaseAway } from "./database-errors.ts";
import { createLog } from "./log.ts";
import { type OpenDeps, openDeps } from "./open-deps.ts";
import { primaryPool } from "./primary-client.ts";
import { inTransaction } from "./transaction.ts";

let directory: string;
let port: number;
let postgres: RunningPostgres;
let owner: Client;
let apiUrl: string;
let open: OpenDeps;
let operator: ApiCaller;

const start = () => startPostgres({ dataDir: directory, port, settings: { fsync: "off" }, log: () => {} });

async function connectOwner(): Promise<void> {
  owner = new Client({ connectionString: postgres.ownerUrl });
  owner.on("error", () => {});
  await owner.connect();
}

/** Ends the API's connections: the next ones are opened now. */
const endConnections = () =>
  owner.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'kule_api'");

let slugs = 0;
const createOrganisation = () => {
  slugs += 1;
  return operator.post("/organisations", { slug: `acme-${slugs}`, name: "Acme" });
};

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-primary-"));
  port = await findFreePort();
  postgres = await start();
  await migrate(postgres.ownerUrl, { apiPassword: "for-this-test" });
  const url = new URL(postgres.ownerUrl);
  url.username = "kule_api";
  url.password = "for-this-test";
  apiUrl = url.href;
  open = await openDeps(testSettings(apiUrl), createLog("silent"));
  operator = new ApiCaller(createApp(open.deps), await firstOperatorToken(postgres.ownerUrl));
  await connectOwner();
});
afterAll(async () => {
  await open.close();
  await owner.end().catch(() => {});
  await postgres.stop();
  removePostgresData(directory);
});

test("a connection that takes no writes any more costs a request, and another one is opened", async () => {
  expect((await createOrganisation()).status).toBe(201);
  // Connections that are opened from now on are as those to a primary that is one no more.
  await owner.query("alter role kule_api set default_transaction_read_only = on");
  await endConnections();
  await expect.poll(async () => (await createOrganisation()).status).toBe(503);
  const refused = await createOrganisation();
  expect([refused.status, refused.body.code]).toEqual([503, "unavailable"]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

  await owner.query("alter role kule_api reset default_transaction_read_only");
  const answers = [];
  // One after the other, so that each of them would get the connection before.
  for (let each = 0; each < 3; each += 1) answers.push((await createOrganisation()).status);
  expect(answers).toEqual([201, 201, 201]);
});

test("of a standby neither reads nor writes are taken, until it is promoted; the same process then serves", async () => {
  await owner.end();
  await postgres.stop();
  // As after a failover that put the old primary behind the new one.
  const cluster = join(directory, "pgdata");
  writeFileSync(join(cluster, "standby.signal"), "", { mode: 0o644 });
  postgres = await start();
  await connectOwner();
  const { rows } = await owner.query("select pg_is_in_recovery() as standby");
  expect(rows).toEqual([{ standby: true }]);

  for (let each = 0; each < 5; each += 1)
    for (const answer of [await operator.get("/organisations"), await createOrganisation()])
      expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
  expect(open.deps.notifications.connected).toBe(false);
  const workers = primaryPool({ connectionString: apiUrl, max: 1 }, () => {});
  await expect(workers.query("select 1")).rejects.toThrow("standby");

  await owner.query("select pg_promote()");
  expect((await workers.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await workers.end();
  expect((await operator.get("/organisations")).status).toBe(200);
  expect((await createOrganisation()).status).toBe(201);
  await expect.poll(() => open.deps.notifications.connected, { timeout: 10_000 }).toBe(true);
});

test("a Postgres that says nothing costs a request the limit of silence, and its connection", async () => {
  const silenceMs = 400;
  const database = openDatabase({
    url: apiUrl,
    poolSize: 1,
    guardTenants: false,
    statementTimeoutMs: 100_000,
    silenceMs,
  });
  const db = systemQuery(database.db, "statements of this test");
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  const pid = rows[0]?.pid ?? 0;
  expect(readFileSync(`/proc/${pid}/comm`, "utf8").trim()).toBe("postgres");
  process.kill(pid, "SIGSTOP");
  try {
    const began = performance.now();
    await expect(sql`select 1`.execute(db)).rejects.toThrow(DatabaseAway);
    expect(performance.now() - began).toBeGreaterThanOrEqual(silenceMs - 50);
    const other = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
    expect(other.rows[0]?.pid).not.toBe(pid);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  // As long as answers arrive, the time together does not count.
  const slow = () => sql`select pg_sleep(0.25)`;
  const together = inTransaction(db, (tx) => Promise.all([1, 2, 3, 4].map(() => slow().execute(tx))));
  await expect(together).resolves.toHaveLength(4);
  await database.close();
});
