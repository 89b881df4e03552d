import { Client } from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "./database.ts";
import { keepRows, openRestorer } from "./kept-rows.ts";

test("kept rows come back, with generated columns, identities and sequences, and new rows are gone", async () => {
  const database = await freshDatabase();
  const client = new Client({ connectionString: database.ownerUrl });
  await client.connect();
  const rows = async (table: string) => (await client.query(`select * from ${table} order by 1`)).rows;
  await client.query(`
    create table parent (id bigint generated always as identity primary key, name text not null,
                         length integer generated always as (length(name)) stored);
    create table child (parent bigint not null references parent (id));
    create table counter (n serial);
    insert into parent (name) values ('one'), ('two');
    insert into child select id from parent;
    insert into counter default values`);
  await keepRows(database.ownerUrl);
  const restorer = await openRestorer(database.ownerUrl);
  const kept = [await rows("parent"), await rows("child"), await rows("counter")];
  for (let round = 0; round < 2; round++) {
    await client.query(`
      delete from child;
      delete from parent where name = 'one';
      update parent set name = 'three';
      insert into parent (name) values ('four');
      insert into counter default values`);
    await restorer.restore();
    expect([await rows("parent"), await rows("child"), await rows("counter")]).toEqual(kept);
  }
  await client.query("insert into counter default values; insert into parent (name) values ('five')");
  expect((await rows("counter")).map(({ n }) => n)).toEqual([1, 2]);
  expect((await rows("parent")).map(({ id }) => id)).toEqual(["1", "2", "3"]);
  await restorer.end();
  await client.end();
  await database.drop();
});
