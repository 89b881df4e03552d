import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase, seededTemplate } from "./database.ts";

let first: FreshDatabase;
let second: FreshDatabase;

beforeAll(async () => {
  [first, second] = await Promise.all([freshDatabase(), freshDatabase()]);
});

afterAll(async () => {
  await first.drop();
  await second.drop();
});

async function query(url: string, sql: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}

test("what one test file writes is not in another one's database", async () => {
  await query(first.ownerUrl, "create table only_here ()");
  expect(await query(first.ownerUrl, "select to_regclass('public.only_here') is null")).toEqual([[false]]);
  expect(await query(second.ownerUrl, "select to_regclass('public.only_here') is null")).toEqual([[true]]);
});

test("the API's role is neither superuser nor owner of the database", async () => {
  expect(
    await query(
      first.apiUrl,
      `select current_user::text, rolsuper, rolcreaterole, pg_get_userbyid(datdba) = current_user
         from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
    ),
  ).toEqual([["kule_api", false, false, false]]);
});

test("a database is dropped even with open connections", async () => {
  const third = await freshDatabase();
  const client = new Client({ connectionString: third.ownerUrl });
  client.on("error", () => {});
  await client.connect();
  await third.drop();
  expect(
    await query(first.ownerUrl, `select count(*)::int from pg_database where datname = '${third.name}'`),
  ).toEqual([[0]]);
  await client.end().catch(() => {});
});

test("a template is seeded once, its facts are known to everybody, and its clones are independent", async () => {
  let seedings = 0;
  const seed = async () => {
    seedings += 1;
    const database = await freshDatabase();
    await query(database.ownerUrl, "create table seeded ()");
    return { database, facts: { secret: "it's one" } };
  };
  const name = `seeded_${process.pid}`;
  const templates = await Promise.all([seededTemplate(name, seed), seededTemplate(name, seed)]);
  expect(seedings).toBe(1);
  expect(templates.map(({ facts }) => facts)).toEqual([{ secret: "it's one" }, { secret: "it's one" }]);
  const clones = await Promise.all(templates.map((template) => freshDatabase(template)));
  for (const { ownerUrl } of clones) await query(ownerUrl, "drop table seeded");
  for (const clone of clones) await clone.drop();
});
