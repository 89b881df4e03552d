import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@kule/database/migrate";
import { findFreePort } from "@kule/postgres/free-port";
import { type RunningPostgres, removePostgresData, startPostgres } from "@kule/postgres/launcher";
import { withDatabase } from "@kule/testing/database-broker";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../app.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { firstOperatorToken, testSettings } from "../testing/api-world.ts";
import { createLog } from "./log.ts";
import { type OpenDeps, openDeps } from "./open-deps.ts";

let directory: string;
let port: number;
let postgres: RunningPostgres;
let open: OpenDeps;
let operator: ApiCaller;

const start = () => startPostgres({ dataDir: directory, port, settings: { fsync: "off" }, log: () => {} });

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-away-"));
  port = await findFreePort();
  postgres = await start();
  await migrate(postgres.ownerUrl, { apiPassword: "for-this-test" });
  const url = new URL(postgres.ownerUrl);
  url.username = "kule_api";
  url.password = "for-this-test";
  open = await openDeps(testSettings(url.href), createLog("silent"));
  const secret = await firstOperatorToken(postgres.ownerUrl);
  operator = new ApiCaller(createApp(open.deps), secret);
});
afterAll(async () => {
  await open.close();
  await postgres.stop();
  removePostgresData(directory);
});

test("while the database is unreachable calls answer 503 with Retry-After; afterwards the same process serves", async () => {
  expect((await operator.get("/organisations")).status).toBe(200);
  await postgres.stop();

  const read = await operator.get("/organisations");
  const write = await operator.post("/organisations", { slug: "acme", name: "Acme" });
  const ready = await operator.get("/readyz");
  for (const answer of [read, write, ready]) {
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect((await operator.get("/healthz")).status).toBe(200);

  postgres = await start();
  expect((await operator.get("/organisations")).status).toBe(200);
  expect((await operator.post("/organisations", { slug: "acme", name: "Acme" })).status).toBe(201);
  await expect.poll(() => open.deps.notifications.connected, { timeout: 10_000 }).toBe(true);
});

test("connections that Postgres ends under a request cost that request, not the next", async () => {
  const owner = new Client({ connectionString: postgres.ownerUrl });
  await owner.connect();
  const killAll = () =>
    owner.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'kule_api'");
  for (let round = 0; round < 5; round += 1) {
    const calls = Array.from({ length: 10 }, () => operator.get("/organisations"));
    await killAll();
    for (const answer of await Promise.all(calls)) expect([200, 503]).toContain(answer.status);
    await expect.poll(async () => (await operator.get("/organisations")).status).toBe(200);
  }
  await owner.end();
});

test("a database that is not migrated to this version is not ready", async () => {
  const owner = new Client({ connectionString: postgres.ownerUrl });
  await owner.connect();
  const { rows } = await owner.query(
    "delete from kule_migration where name = (select max(name) from kule_migration) returning *",
  );
  expect((await operator.get("/readyz")).status).toBe(503);
  await owner.query("insert into kule_migration (name, timestamp) values ($1, $2)", [
    rows[0].name,
    rows[0].timestamp,
  ]);
  expect((await operator.get("/readyz")).status).toBe(200);
  await owner.end();
});

test("an address with nothing behind it is a 503 too", async () => {
  const nowhere = await openDeps(
    testSettings(withDatabase(postgres.ownerUrl, "no_such_database")),
    createLog("silent"),
  );
  const answer = await operator.at(createApp(nowhere.deps)).get("/me");
  expect(answer.status).toBe(503);
  await nowhere.close();
});
