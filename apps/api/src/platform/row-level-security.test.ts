import { sql } from "kysely";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../testing/api-world.ts";
import { ed25519Line } from "../testing/ssh-key-lines.ts";
import { type Database, systemQuery } from "./database.ts";
import { actAs } from "./mutation.ts";
import { inTransaction } from "./transaction.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let other: TestOrganisation;
/** Without the guard: these tests check what Postgres does when a query lacks its filter. */
let db: Database;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  other = await world.addOrganisation("other");
  await other.owner.post("/ssh-keys", { name: "theirs", public_key: ed25519Line() });
  await acme.owner.post("/ssh-keys", { name: "ours", public_key: ed25519Line() });
  db = systemQuery(world.replica.deps.db, "queries without their organisation");
});
afterAll(() => world.close());

function within<Result>(organisationId: string, work: (tx: Parameters<typeof actAs>[0]) => Promise<Result>) {
  return inTransaction(db, async (tx) => {
    actAs(tx, organisationId);
    return work(tx);
  });
}

describe("a query without its organisation, in a mutation's transaction", () => {
  test("sees the acting organisation's rows only", async () => {
    const names = await within(acme.id, (tx) => tx.selectFrom("ssh_key").select("name").execute());
    expect(names).toEqual([{ name: "ours" }]);
    expect(await within("org_nobody", (tx) => tx.selectFrom("ssh_key").select("name").execute())).toEqual([]);
  });

  test("changes and removes nothing of others", async () => {
    const changed = await within(acme.id, (tx) =>
      tx.updateTable("ssh_key").set({ comment: "touched" }).returning("name").execute(),
    );
    expect(changed).toEqual([{ name: "ours" }]);
    const removed = await within(acme.id, (tx) =>
      tx.deleteFrom("ssh_key").where("name", "=", "theirs").returning("id").execute(),
    );
    expect(removed).toEqual([]);
  });

  test("cannot write a row for others", async () => {
    const write = within(acme.id, (tx) =>
      tx.updateTable("ssh_key").set({ organisation_id: other.id }).where("name", "=", "ours").execute(),
    );
    await expect(write).rejects.toThrow(/row-level security/);
  });
});

test("a transaction's organisation ends with it", async () => {
  await within(acme.id, async () => {});
  for (let round = 0; round < 20; round += 1) {
    const { rows } = await sql<{ acting: string | null }>`
      select current_setting('app.organisation', true) as acting`.execute(db);
    expect(rows[0]?.acting ?? "").toBe("");
  }
});

test("a page of a big organisation is read from the ordered index, whatever the policy looks like", async () => {
  const owner = new Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query(
      `insert into organisation (id, slug, name) select 'org_big' || i, 'big' || i, 'big' from generate_series(1, 20) i`,
    );
    await owner.query(
      `insert into ssh_key (id, organisation_id, name, public_key, fingerprint_sha256, fingerprint_md5, type, bits, comment)
       select 'key_' || i, 'org_big' || (i % 20 + 1), 'k' || i, 'p', 'f' || i, 'm', 'ed25519', 256, ''
         from generate_series(1, 20000) i`,
    );
    await owner.query("analyze ssh_key");
  } finally {
    await owner.end();
  }
  const planned = await within("org_big8", (tx) =>
    sql<{ "QUERY PLAN": string }>`
      explain select * from ssh_key where organisation_id = 'org_big8'
       order by created_at desc, id desc limit 50`.execute(tx),
  );
  const plan = planned.rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain("Index Scan using ssh_key_list");
  expect(plan).not.toContain("Sort");
});
