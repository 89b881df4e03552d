import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../testing/api-world.ts";
import { ed25519Line } from "../testing/ssh-key-lines.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let owner: Client;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  owner = new Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await world.close();
});

const withKey = (key: string) => ({ "Idempotency-Key": key });

async function auditRows(action: string): Promise<number> {
  const { rows } = await owner.query(
    "select count(*)::int as n from audit where action = $1 and outcome = 'succeeded'",
    [action],
  );
  return rows[0].n;
}

test("the same request with the same key is done once and answered the same", async () => {
  const body = { name: "laptop", public_key: ed25519Line() };
  const first = await acme.owner.post("/ssh-keys", body, withKey("k1"));
  const again = await acme.owner.post("/ssh-keys", body, withKey("k1"));
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("location")).toBe(first.headers.get("location"));
  expect(first.headers.get("idempotency-replayed")).toBeNull();
  expect(again.headers.get("idempotency-replayed")).toBe("true");
});

test("the same key for another request is refused", async () => {
  await acme.owner.post("/ssh-keys", { name: "k2", public_key: ed25519Line() }, withKey("k2"));
  const other = await acme.owner.post(
    "/ssh-keys",
    { name: "k2-2", public_key: ed25519Line() },
    withKey("k2"),
  );
  expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
});

test("50 concurrent requests with one key create one resource, and all get its id", async () => {
  const before = await auditRows("ssh_key.create");
  const replica = await world.addReplica();
  const body = { name: "many", public_key: ed25519Line() };
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 2 === 0 ? acme.owner : acme.owner.at(replica.app)).post("/ssh-keys", body, withKey("many")),
    ),
  );
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
  expect(answers.filter((answer) => answer.headers.get("idempotency-replayed") === null)).toHaveLength(1);
  expect((await auditRows("ssh_key.create")) - before).toBe(1);
});

test("a key belongs to its caller: another token's same key is another key", async () => {
  const second = await world.addToken(acme.id, "owner");
  const one = await acme.owner.post(
    "/ssh-keys",
    { name: "mine", public_key: ed25519Line() },
    withKey("same"),
  );
  const two = await second.post("/ssh-keys", { name: "yours", public_key: ed25519Line() }, withKey("same"));
  expect([one.status, two.status]).toEqual([201, 201]);
  expect(one.body.id).not.toBe(two.body.id);
});

test("a refusal is not stored: the same key tries again", async () => {
  const body = { name: "taken", public_key: ed25519Line() };
  const blocker = await acme.owner.post("/ssh-keys", { name: "taken", public_key: ed25519Line() });
  expect((await acme.owner.post("/ssh-keys", body, withKey("retry"))).status).toBe(409);
  await acme.owner.delete(`/ssh-keys/${blocker.body.id}`);
  expect((await acme.owner.post("/ssh-keys", body, withKey("retry"))).status).toBe(201);
});

test("a repeated delete is answered like the first, although the resource is deleted", async () => {
  const { body } = await acme.owner.post("/ssh-keys", { name: "gone", public_key: ed25519Line() });
  const path = `/ssh-keys/${body.id}`;
  const answers = await Promise.all([1, 2, 3].map(() => acme.owner.delete(path, withKey("delete"))));
  expect(answers.map((answer) => answer.status)).toEqual([204, 204, 204]);
  expect((await acme.owner.delete(path)).status).toBe(404);
});

test("a replay withholds the secret, and the secret is nowhere in the database", async () => {
  const first = await acme.owner.post("/tokens", { name: "ci" }, withKey("token"));
  const again = await acme.owner.post("/tokens", { name: "ci" }, withKey("token"));
  expect(first.body.secret).toMatch(/^kule_pat_/);
  expect(again.body).toEqual({ token: first.body.token, secret: null, secret_withheld: true });
  const secret = first.body.secret.slice(-38);
  const { rows: tables } = await owner.query(
    "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  for (const { table_name } of tables) {
    const { rows } = await owner.query(`select 1 from "${table_name}" t where t::text like $1`, [
      `%${secret}%`,
    ]);
    expect(rows, table_name).toEqual([]);
  }
});

test("a key expires after 24 hours", async () => {
  const body = { name: "daily", public_key: ed25519Line() };
  const first = await acme.owner.post("/ssh-keys", body, withKey("daily"));
  await owner.query(
    "update idempotency_key set created_at = now() - interval '25 hours' where key = 'daily'",
  );
  await acme.owner.delete(`/ssh-keys/${first.body.id}`);
  const later = await acme.owner.post("/ssh-keys", body, withKey("daily"));
  expect(later.status).toBe(201);
  expect(later.body.id).not.toBe(first.body.id);
});

test("a request whose key is in progress for too long is refused", async () => {
  const holder = new Client({ connectionString: world.database.ownerUrl });
  await holder.connect();
  await holder.query("begin");
  await holder.query(
    `insert into idempotency_key (organisation_id, subject, method, path, key, request_hash, status, headers)
     select organisation_id, id, 'POST', '/api/v1/ssh-keys', 'busy', '', 0, '{}' from token
      where organisation_id = $1 and id = $2`,
    [acme.id, (await acme.owner.get("/me")).body.token.id],
  );
  const answer = await acme.owner.post(
    "/ssh-keys",
    { name: "busy", public_key: ed25519Line() },
    withKey("busy"),
  );
  expect([answer.status, answer.body.code]).toEqual([409, "idempotency_in_progress"]);
  await holder.query("rollback");
  await holder.end();
});
