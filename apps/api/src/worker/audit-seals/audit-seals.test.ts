import { findViolations } from "@kule/invariants/find-violations";
import { PostgresCluster } from "@kule/testing/rig/postgres-cluster";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { runWorker } from "../run.ts";
import { type AuditKeys, readAuditKeys } from "./audit-keys.ts";
import { sealRows } from "./seal-rows.ts";
import { sealAll, verifyAudit } from "./verify-audit.ts";

const secret = (letter: string) => letter.repeat(32);
const keysOf = (text: string): AuditKeys => {
  const keys = readAuditKeys({ KULE_AUDIT_KEYS: text });
  if (keys === null) throw new Error("no keys");
  return keys;
};
const keys = keysOf(`k1:${secret("a")}`);

let world: ApiWorld;
let owner: Client;
let acme: TestOrganisation;
let other: TestOrganisation;

beforeAll(async () => {
  // Rows are sealed when every older transaction of the whole Postgres has ended, and tests beside this one have long ones.
  world = await ApiWorld.over((await PostgresCluster.open()).database);
  owner = new Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  acme = await world.addOrganisation("acme");
  other = await world.addOrganisation("other");
});
afterAll(async () => {
  await owner.end();
  await world.close();
});

/** Rows wait for every older transaction of the Postgres; those of the API in this process end by themselves. */
async function sealEverything(with_: AuditKeys): Promise<void> {
  await expect
    .poll(
      async () => {
        await sealAll(owner, with_);
        const { rowCount } = await owner.query(
          "select from audit a where not exists (select from audit_seal where audit_id = a.id)",
        );
        return rowCount;
      },
      { timeout: 50_000, interval: 20 },
    )
    .toBe(0);
}

/** A trail of an hour ago, sealed. */
beforeEach(async () => {
  await owner.query(
    "truncate audit, audit_seal, audit_seal_head, audit_seal_start, audit_break, audit_verification",
  );
  for (const { owner: caller } of [acme, other, acme, other])
    await caller.post("/ssh-keys", { name: "no key" });
  await owner.query("update audit set at = at - interval '1 hour'");
  await acme.owner.post("/ssh-keys", { name: "no key either" });
  await sealEverything(keys);
});

const verify = (with_: AuditKeys = keys) => verifyAudit(world.replica.deps, owner, with_);
const said = async (caller = world.operator) => (await caller.get("/audit/verify")).body;
const idOf = async (organisation: TestOrganisation) => {
  const { rows } = await owner.query("select id from audit where organisation_id = $1 order by at limit 1", [
    organisation.id,
  ]);
  return rows[0].id as string;
};
const broken = async () =>
  (await findViolations(owner)).filter(({ invariant }) => invariant === "I12").map(({ subject }) => subject);

test("an unchanged trail is intact, up to its last sealed entry", async () => {
  expect(await said()).toMatchObject({ whole: null, checked_at: null, stale: true });
  await verify();
  const { rows } = await owner.query("select max(at) as last, count(*)::integer as count from audit");
  expect(rows[0].count).toBe(5);
  for (const caller of [world.operator, acme.owner, other.owner])
    expect(await said(caller)).toEqual({
      whole: true,
      checked_at: expect.any(String),
      stale: false,
      kept_from: null,
      up_to: rows[0].last.toISOString(),
      first_break: null,
      breaks: 0,
    });
  expect(await broken()).toEqual([]);
});

describe("without the API, by the owner of the tables,", () => {
  test.each([
    ["a changed actor", "update audit set actor_name = 'Somebody else' where id = $1"],
    ["a changed detail", `update audit set details = details || '{"x": 1}' where id = $1`],
    ["a row given to nobody", "update audit set organisation_id = null where id = $1"],
  ])("%s is detected", async (_what, sql) => {
    const id = await idOf(acme);
    await owner.query(sql, [id]);
    await verify();
    expect(await said()).toMatchObject({
      whole: false,
      breaks: 1,
      first_break: { reason: "row_changed", entry: id, position: expect.any(Number) },
    });
    expect(await said(acme.owner)).toMatchObject({
      whole: false,
      first_break: { entry: id, position: null },
    });
    expect(await said(other.owner)).toMatchObject({ whole: true, first_break: null });
    expect(await broken()).toEqual([expect.stringContaining(`row_changed ${id}`)]);
  });

  test("a changed time is detected as a row that is gone and another that was added", async () => {
    const id = await idOf(acme);
    await owner.query("update audit set at = at + interval '1 microsecond' where id = $1", [id]);
    expect((await verify()).breaks).toMatchObject([
      { reason: "row_removed", auditId: id },
      { reason: "row_added", auditId: id },
    ]);
  });

  test("a second row of the same identifier is sealed like any other, and detected in the past", async () => {
    const id = await idOf(acme);
    const again = (at: string) =>
      owner.query(
        `insert into audit (id, at, organisation_id, actor_type, action, outcome, http_status, request_id)
         values ($1, ${at}, $2, 'user', 'server.delete', 'succeeded', 202, 'req_x')`,
        [id, acme.id],
      );
    await again("now()");
    await sealEverything(keys);
    expect((await verify()).breaks).toEqual([]);
    await again("now() - interval '30 minutes'");
    expect((await verify()).breaks).toMatchObject([{ reason: "row_added", auditId: id }]);
  });

  test("a removed row is detected, and so is one that is removed with its seal", async () => {
    const id = await idOf(acme);
    await owner.query("delete from audit where id = $1", [id]);
    await verify();
    expect(await said(acme.owner)).toMatchObject({
      whole: false,
      first_break: { reason: "row_removed", entry: id },
    });
    expect(await said(other.owner)).toMatchObject({ whole: true });
    await owner.query("delete from audit_seal where audit_id = $1", [id]);
    await verify();
    for (const caller of [world.operator, acme.owner, other.owner])
      expect(await said(caller)).toMatchObject({ whole: false, first_break: { reason: "seals_removed" } });
  });

  test("the end of the trail, cut off with its seals, is detected", async () => {
    await owner.query(
      "delete from audit where id = (select audit_id from audit_seal order by position desc limit 1)",
    );
    await owner.query("delete from audit_seal where position = (select max(position) from audit_seal)");
    expect((await verify()).breaks).toMatchObject([{ reason: "seals_removed" }]);
    await owner.query(
      `update audit_seal_head set position = s.position, mac = s.mac
         from (select position, mac from audit_seal order by position desc limit 1) s`,
    );
    expect((await verify()).breaks).toMatchObject([{ reason: "seal_changed" }]);
    await owner.query("delete from audit_seal_head");
    const fresh = await owner.query("select count(*)::integer as count from audit_seal");
    expect(fresh.rows[0].count).toBe(4);
    await expect(verify()).resolves.toMatchObject({ breaks: [{ reason: "seals_removed" }] });
  });

  test("a row that was added to the past is detected, and never sealed", async () => {
    await owner.query(
      `insert into audit (id, at, organisation_id, actor_type, action, outcome, http_status, request_id)
       values ('aud_added', now() - interval '30 minutes', $1, 'user', 'server.delete', 'succeeded', 202, 'req_x')`,
      [acme.id],
    );
    await verify();
    await verify();
    expect(await said(acme.owner)).toMatchObject({
      whole: false,
      breaks: 1,
      first_break: { reason: "row_added", entry: "aud_added" },
    });
    expect(await broken()).toEqual(["row_added aud_added"]);
  });

  test("a seal created without the key is detected", async () => {
    const id = await idOf(acme);
    await owner.query("update audit set actor_name = 'Somebody else' where id = $1", [id]);
    const { breaks } = await verify();
    expect(breaks).toMatchObject([{ reason: "row_changed" }]);
    await owner.query("truncate audit_seal, audit_seal_head");
    await sealEverything(keysOf(`k1:${secret("z")}`));
    expect((await verify()).breaks[0]).toMatchObject({ reason: "seal_changed" });
    await owner.query("truncate audit_seal, audit_seal_head");
    await sealEverything(keysOf(`forged:${secret("z")}`));
    expect((await verify()).breaks[0]).toMatchObject({ reason: "key_unknown" });
  });
});

test("a key is replaced by one in front of it; what the old one sealed stays verified", async () => {
  const both = keysOf(`k2:${secret("b")},k1:${secret("a")}`);
  await acme.owner.post("/ssh-keys", { name: "later" });
  await sealEverything(both);
  const { rows } = await owner.query(
    "select key_id, count(*)::integer from audit_seal group by 1 order by 1",
  );
  expect(rows).toEqual([
    { key_id: "k1", count: 5 },
    { key_id: "k2", count: 1 },
  ]);
  expect((await verify(both)).breaks).toEqual([]);
});

test("a row waits for every transaction that is older than its own, and then has its position", async () => {
  const slow = new Client({ connectionString: world.database.ownerUrl });
  await slow.connect();
  await slow.query("begin");
  const late = `insert into audit (id, actor_type, action, outcome, http_status, request_id)
                values ('aud_late', 'system', 'installation.seed', 'succeeded', 200, 'req_x')`;
  await slow.query(late);
  await acme.owner.post("/ssh-keys", { name: "meanwhile" });
  expect(await sealRows(owner, keys)).toBe(0);
  await slow.query("commit");
  await slow.end();
  await sealEverything(keys);
  expect((await verify()).breaks).toEqual([]);
});

test("concurrent workers give each row one seal, without gaps", async () => {
  await Promise.all(Array.from({ length: 20 }, () => acme.owner.post("/ssh-keys", { name: "many" })));
  const clients = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = new Client({ connectionString: world.database.ownerUrl });
      await client.connect();
      return client;
    }),
  );
  await Promise.all(clients.map((client) => sealAll(client, keys)));
  await Promise.all(clients.map((client) => client.end()));
  await expect
    .poll(async () => {
      await sealAll(owner, keys);
      const { rows } = await owner.query(
        "select count(*)::integer as seals, max(position)::integer as last from audit_seal",
      );
      return rows[0];
    })
    .toEqual({ seals: 25, last: 25 });
  expect((await verify()).breaks).toEqual([]);
});

test("the worker seals new rows by itself", async () => {
  const worker = await runWorker({
    deps: world.replica.deps,
    workerUrl: world.database.workerUrl,
    auditKeys: keys,
  });
  await acme.owner.post("/ssh-keys", { name: "by itself" });
  const unsealed = async () =>
    (await owner.query("select from audit a where not exists (select from audit_seal where audit_id = a.id)"))
      .rowCount;
  await expect.poll(unsealed, { timeout: 15_000 }).toBe(0);
  await expect.poll(async () => (await said()).whole, { timeout: 15_000 }).toBe(true);
  await worker.stop();
});

describe("the API's role", () => {
  test.each([
    ["change an entry", "update audit set actor_name = 'x'"],
    ["remove an entry", "delete from audit"],
    [
      "write an entry into the past",
      "insert into audit (id, at, actor_type, action, outcome, http_status, request_id) values ('aud_1', now() - interval '1 day', 'user', 'x', 'succeeded', 200, 'r')",
    ],
    ["read or write seals", "select * from audit_seal"],
    ["move the end of the seals", "update audit_seal_head set position = 0"],
    ["say that all is well", "delete from audit_break"],
    ["say when it was looked at", "update audit_verification set checked_at = now()"],
  ])("may not %s", async (_what, sql) => {
    const api = new Client({ connectionString: world.database.apiUrl });
    await api.connect();
    await expect(api.query(sql)).rejects.toMatchObject({ code: "42501" });
    await api.end();
  });
});
