import { seededGenerator } from "@kule/lab/runtime";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../database.ts";
import { PostgresFaultProxy } from "./postgres-fault-proxy.ts";
import { WireReader } from "./postgres-wire.ts";

let database: FreshDatabase;
let direct: pg.Client;
let proxy: PostgresFaultProxy;
let through: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  direct = new pg.Client({ connectionString: database.ownerUrl });
  await direct.connect();
  await direct.query("create table note (text text); create table other (text text)");
});
afterAll(async () => {
  await direct.end();
  await database.drop();
});
beforeEach(async () => {
  await direct.query("truncate note, other");
  proxy = await PostgresFaultProxy.open({ url: database.ownerUrl, random: seededGenerator(1) });
  through = await connected();
});
afterEach(async () => {
  await through.end().catch(() => {});
  await proxy.close();
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: proxy.url });
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function write(
  client: pg.Client,
  table: string,
  text: string,
  commit: pg.QueryConfig = { text: "commit" },
) {
  await client.query("begin");
  await client.query({ name: `into-${table}`, text: `insert into ${table} values ($1)`, values: [text] });
  await client.query(commit);
}

const notes = async () =>
  (await direct.query("select text from note order by text")).rows.map(({ text }) => text);

describe("the proxy", () => {
  test("forwards the messages of clients and Postgres, in both query protocols", async () => {
    const long = "x".repeat(300_000);
    await write(through, "note", long);
    expect((await through.query("select text from note")).rows).toEqual([{ text: long }]);
    expect((await through.query("select $1::text as echo", [long])).rows).toEqual([{ echo: long }]);
    expect(proxy.counts()).toEqual({ commits: 1 });
  });

  test("loses a commit before Postgres sees it: nothing is there", async () => {
    proxy.add({ at: "commit", action: "cut-before", count: 1 });
    await expect(write(through, "note", "lost")).rejects.toThrow();
    await expect
      .poll(
        async () =>
          (
            await direct.query(
              "select from pg_locks where relation = 'note'::regclass and pid <> pg_backend_pid()",
            )
          ).rowCount,
      )
      .toBe(0);
    expect(await notes()).toEqual([]);
    expect(proxy.counts()).toEqual({ commits: 1, "cut-before": 1 });
  });

  test.each([
    ["as a simple query", { text: "commit" }],
    ["as a prepared statement", { name: "the-end", text: "COMMIT", values: [] }],
  ])("loses the reply to a commit %s: the client has an error, and all is there", async (_, commit) => {
    proxy.add({ at: "commit", action: "cut-reply", count: 1 });
    await expect(write(through, "note", "kept", commit)).rejects.toThrow();
    expect(await notes()).toEqual(["kept"]);
    expect(proxy.counts()).toEqual({ commits: 1, "cut-reply": 1 });
  });

  test("loses the nth commit of transactions that did what it names, and no other", async () => {
    const off = proxy.add({
      at: "commit",
      matches: /insert into note/,
      action: "cut-reply",
      nth: 2,
      count: 1,
    });
    await write(through, "note", "1");
    await write(through, "other", "2");
    await expect(write(through, "note", "3")).rejects.toThrow();
    await write(await connected(), "note", "4");
    expect(await notes()).toEqual(["1", "3", "4"]);
    expect(off()).toBe(1);
  });

  test("drops a transaction that was rolled back", async () => {
    proxy.add({ at: "commit", matches: /insert into note/, action: "cut-before" });
    await through.query("begin");
    await through.query("insert into note values ('undone')");
    await through.query("rollback");
    await write(through, "other", "x");
    expect(proxy.counts()).toEqual({ commits: 1 });
  });

  test("resets, delays and drips a statement", async () => {
    const slow = proxy.add({ at: "statement", matches: /slow/, action: "delay", milliseconds: 60, count: 1 });
    let before = performance.now();
    await through.query("select 'slow'");
    expect(performance.now() - before).toBeGreaterThanOrEqual(59);
    expect(slow()).toBe(1);
    proxy.add({ at: "statement", matches: /drip/, action: "drip", milliseconds: 1, count: 1 });
    before = performance.now();
    expect((await through.query("select 'drip' as a")).rows).toEqual([{ a: "drip" }]);
    expect(performance.now() - before).toBeGreaterThanOrEqual(40);
    expect((await through.query("select 'as before' as a")).rows).toEqual([{ a: "as before" }]);
    proxy.add({ at: "statement", matches: /gone/, action: "reset", count: 1 });
    await expect(through.query("select 'gone'")).rejects.toThrow(/ECONNRESET|terminated/);
    expect(proxy.counts()).toEqual({ delay: 1, drip: 1, reset: 1 });
  });
});

test("a stream is cut into the same messages wherever its packets end", () => {
  const message = (type: string, body: string) => {
    const bytes = Buffer.alloc(type.length + 4 + body.length);
    bytes.write(type, 0);
    bytes.writeInt32BE(4 + body.length, type.length);
    bytes.write(body, type.length + 4);
    return bytes;
  };
  const tls = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
  const start = Buffer.concat([Buffer.from([0, 0, 0, 9, 0, 3, 0, 0]), Buffer.from([0])]);
  const stream = Buffer.concat([tls, start, message("Q", "select 1\0"), message("S", ""), message("X", "")]);
  for (let size = 1; size <= stream.length; size += 1) {
    const reader = new WireReader("client");
    const types: string[] = [];
    for (let at = 0; at < stream.length; at += size)
      types.push(...reader.read(stream.subarray(at, at + size)).map(({ type }) => type));
    expect(types).toEqual(["", "", "Q", "S", "X"]);
  }
});
