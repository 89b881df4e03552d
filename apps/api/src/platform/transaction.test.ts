import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld } from "../testing/api-world.ts";
import { wireCostsOf } from "../testing/wire-costs.ts";
import { type Database, systemQuery } from "./database.ts";
import { inTransaction, send, sendAhead } from "./transaction.ts";

let world: ApiWorld;
let db: Database;
beforeAll(async () => {
  world = await ApiWorld.open();
  db = systemQuery(world.replica.deps.db, "rows of these tests");
});
afterAll(() => world.close());

let serial = 0;
const slug = () => `tx-${++serial}`;
const organisation = (name: string) =>
  db.insertInto("organisation").values({ id: `org_${name}`, slug: name, name });
const written = (name: string) =>
  sql`insert into organisation (id, slug, name) values (${`org_${name}`}, ${name}, ${name})`;
const exists = async (name: string) =>
  (await db.selectFrom("organisation").select("id").where("slug", "=", name).execute()).length === 1;

describe("A transaction", () => {
  test("begins with its first read, and reads that do not depend on each other are one round trip", async () => {
    const costs = await wireCostsOf(() =>
      inTransaction(db, (tx) =>
        Promise.all([1, 2, 3].map((number) => sql`select ${number}::integer`.execute(tx))),
      ),
    );
    expect(costs).toEqual({ roundTrips: 2, statements: 5 });
  });

  test("writes ahead in the order of the calls, together with the commit", async () => {
    const name = slug();
    const costs = await wireCostsOf(() =>
      inTransaction(db, async (tx) => {
        await sql`select 1`.execute(tx);
        sendAhead(tx, written(name));
        sendAhead(tx, sql`update organisation set name = 'later' where slug = ${name}`);
      }),
    );
    expect(costs).toEqual({ roundTrips: 2, statements: 5 });
    expect(await db.selectFrom("organisation").select("name").where("slug", "=", name).execute()).toEqual([
      { name: "later" },
    ]);
  });

  test("fails with the error of what was sent ahead, at the next answer or at the commit, and writes nothing", async () => {
    const [taken, other] = [slug(), slug()];
    await organisation(taken).execute();
    const explain = () => new Error("the name is taken");
    const failing = (last: boolean) =>
      inTransaction(db, async (tx) => {
        sendAhead(tx, written(other));
        sendAhead(tx, written(taken), explain);
        if (!last) await send(tx, sql`select 1`);
      });
    await expect(failing(false)).rejects.toThrow("the name is taken");
    await expect(failing(true)).rejects.toThrow("the name is taken");
    expect(await exists(other)).toBe(false);
  });

  test("takes nothing after its end, also from work that was under way when something else failed", async () => {
    const [late, early] = [slug(), slug()];
    const failed = Promise.withResolvers<void>();
    let straggler: Promise<unknown> = Promise.resolve();
    const run = inTransaction(db, async (tx) => {
      straggler = (async () => {
        await sql`select pg_sleep(0.02)`.execute(tx);
        await failed.promise;
        sendAhead(tx, written(late));
      })();
      straggler.catch(() => {});
      await sql`select 1`.execute(tx);
      throw new Error("refused");
    });
    await expect(run).rejects.toThrow("refused");
    failed.resolve();
    await expect(straggler).rejects.toThrow("the transaction is over");
    const before = inTransaction(db, async (tx) => {
      // Behind an unanswered begin.
      sendAhead(tx, written(early));
      throw new Error("refused");
    });
    await expect(before).rejects.toThrow("refused");
    await sql`select pg_sleep(0.05)`.execute(db);
    expect([await exists(late), await exists(early)]).toEqual([false, false]);
  });

  test("gives its connection back as it was", async () => {
    for (let round = 0; round < 30; round += 1)
      await inTransaction(db, async (tx) => {
        await sql`select set_config('app.organisation', 'org_nobody', true)`.execute(tx);
        throw new Error("refused");
      }).catch(() => {});
    const { rows } = await sql<{ acting: string | null }>`
      select current_setting('app.organisation', true) as acting`.execute(db);
    expect(rows[0]?.acting ?? "").toBe("");
  });
});
