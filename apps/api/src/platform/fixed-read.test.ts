import { type FreshDatabase, freshDatabase } from "@kule/testing/database";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenDatabase, openDatabase } from "./database.ts";
import { fixedRead } from "./fixed-read.ts";
import { UnguardedQuery } from "./tenant-guard.ts";
import { inTransaction } from "./transaction.ts";

let database: FreshDatabase;
let open: OpenDatabase;

beforeAll(async () => {
  database = await freshDatabase();
  open = openDatabase({ url: database.apiUrl, poolSize: 2, guardTenants: true });
});
afterAll(async () => {
  await open.close();
  await database.drop();
});

test("a fixed read is built once, and reads what each call names, inside of transactions too", async () => {
  let built = 0;
  const read = fixedRead(["first", "second"], (db, { first, second }) => {
    built += 1;
    return db
      .selectNoFrom((is) => [
        is.val(second).as("second"),
        is.val("constant").as("constant"),
        is.val(first).as("first"),
      ])
      .$castTo<{ first: string; second: string; constant: string }>();
  });
  expect(await read(open.db, { first: "a", second: "b" })).toEqual([
    { first: "a", second: "b", constant: "constant" },
  ]);
  expect(await inTransaction(open.db, (tx) => read(tx, { first: "c", second: "c" }))).toEqual([
    { first: "c", second: "c", constant: "constant" },
  ]);
  expect(built).toBe(1);
});

test("a fixed read without the organisation's condition is refused, as any other query is", async () => {
  const read = fixedRead(["id"], (db, { id }) => db.selectFrom("server").select("name").where("id", "=", id));
  await expect(read(open.db, { id: "srv_x" })).rejects.toBeInstanceOf(UnguardedQuery);
  await expect(read(open.db, { id: "srv_x" })).rejects.toBeInstanceOf(UnguardedQuery);
});
