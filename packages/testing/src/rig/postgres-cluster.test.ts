import { seededGenerator } from "@kule/lab/runtime";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PostgresCluster, type StopMode } from "./postgres-cluster.ts";

let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.open();
}, 60_000);
afterAll(() => cluster?.close());

async function ask<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: cluster.database.ownerUrl });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

test("the cluster is durable and migrated, and the API's role can use it", async () => {
  expect(await ask("show fsync")).toEqual([{ fsync: "on" }]);
  const api = new pg.Client({ connectionString: cluster.database.apiUrl });
  await api.connect();
  expect((await api.query("select count(*)::int as servers from server")).rows).toEqual([{ servers: 0 }]);
  await api.end();
});

test.each(["fast", "immediate", "kill"] satisfies StopMode[])(
  "committed data survive a stop that is %s, and uncommitted data do not",
  async (mode) => {
    await ask("create table if not exists note (text text)");
    await ask(`insert into note values ('${mode}')`);
    const open = new pg.Client({ connectionString: cluster.database.ownerUrl });
    open.on("error", () => {});
    await open.connect();
    await open.query("begin");
    await open.query("insert into note values ('never committed')");

    await cluster.stop(mode);
    await expect(ask("select 1")).rejects.toThrow();
    await cluster.start();
    expect(await ask(`select text from note where text in ('${mode}', 'never committed')`)).toEqual([
      { text: mode },
    ]);
    await open.end().catch(() => {});
  },
);

test("a terminated backend is one of the clients', never the one that terminates", async () => {
  const victim = new pg.Client({ connectionString: cluster.database.ownerUrl, application_name: "victim" });
  const ended = new Promise((resolve) => victim.on("error", resolve));
  await victim.connect();
  expect(await cluster.terminateOne(seededGenerator(1))).toBe("victim");
  await ended;
  await expect.poll(() => cluster.terminateOne(seededGenerator(1))).toBe(null);
});
