import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkServer } from "./external.ts";
import { findFreePort, isPortBusy } from "./free-port.ts";
import { type RunningPostgres, startPostgres } from "./launcher.ts";
import { openPostgres } from "./open.ts";

let scratch: string;
let postgres: RunningPostgres;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "kule-postgres-"));
  chmodSync(scratch, 0o755);
  postgres = await startPostgres({ dataDir: scratch, settings: { fsync: "off" }, log: () => {} });
});

afterAll(async () => {
  await postgres.stop();
  rmSync(scratch, { recursive: true, force: true });
});

async function run(sql: string): Promise<void> {
  const client = new Client({ connectionString: postgres.ownerUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

test("a suitable server reports its version", async () => {
  expect((await checkServer(postgres.ownerUrl)).serverVersion).toMatch(/^18\./);
});

test("everything that is wrong with a server is reported at once, without its password", async () => {
  await run("create role plain login password 'secret'");
  await run("create database latin encoding 'SQL_ASCII' template template0 locale_provider libc locale 'C'");
  const url = new URL(postgres.ownerUrl);
  url.username = "plain";
  url.password = "secret";
  url.pathname = "/latin";
  const outcome = checkServer(url.href);
  await expect(outcome).rejects.toMatchObject({ code: "unsuitable_server" });
  await expect(outcome).rejects.toThrow(/SQL_ASCII/);
  await expect(outcome).rejects.toThrow(/create roles.*create databases/);
  await expect(outcome).rejects.not.toThrow(/secret/);
});

test("an unreachable server is named", async () => {
  const port = await findFreePort();
  await expect(checkServer(`postgres://a:secret@127.0.0.1:${port}/x`)).rejects.toThrow(
    new RegExp(`Cannot connect to postgres://a:\\*\\*\\*@127.0.0.1:${port}/x`),
  );
});

test("a given connection string is used as it is, and not stopped", async () => {
  const opened = await openPostgres(postgres.ownerUrl, { dataDir: join(scratch, "unused"), log: () => {} });
  expect(opened).toMatchObject({ external: true, ownerUrl: postgres.ownerUrl });
  await opened.stop();
  await checkServer(postgres.ownerUrl);
});

test("a port is busy exactly while something holds it", async () => {
  expect(await isPortBusy(postgres.port)).toBe(true);
  expect(await isPortBusy(await findFreePort())).toBe(false);
});
