import { createHash } from "node:crypto";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld, firstOperatorToken } from "../testing/api-world.ts";

let world: ApiWorld;
let api: Client;
let owner: Client;
let organisationId: string;

beforeAll(async () => {
  world = await ApiWorld.open();
  organisationId = (await world.addOrganisation("acme")).id;
  api = new Client({ connectionString: world.database.apiUrl });
  owner = new Client({ connectionString: world.database.ownerUrl });
  await Promise.all([api.connect(), owner.connect()]);
  await owner.query("insert into app_user (id, email, name) values ('usr_1', 'one@example.org', 'One')");
});
afterAll(async () => {
  await Promise.all([api.end(), owner.end()]);
  await world.close();
});
afterEach(() => api.query("rollback"));

/** With a stolen connection of kule_api and nothing else. */
describe("the API's database role cannot", () => {
  test.each([
    ["make a person an operator", "update app_user set is_operator = true"],
    [
      "make a new operator",
      "insert into app_user (id, email, name, is_operator) values ('usr_2', 'b@c.de', 'B', true)",
    ],
    [
      "insert an operator's token",
      "insert into token (id, kind, name, secret_hash) values ('tok_1', 'operator', 'x', sha256('x'))",
    ],
    ["make a token an operator's", "update token set kind = 'operator', organisation_id = null, role = null"],
    ["give a token another secret", "update token set secret_hash = sha256('x')"],
    ["give a token to somebody else", "update token set user_id = 'usr_1'"],
    ["remove a token", "delete from token"],
    [
      "make an operator's token with a guess",
      "select kule_mint_operator_token('tok_1', 'x', 'tok_2', null, 'x', '{}', sha256('x'), null, null)",
    ],
    [
      "make an operator's token with the hash that it can read",
      "select kule_mint_operator_token(id, encode(secret_hash, 'hex'), 'tok_2', null, 'x', '{}', sha256('x'), null, null) from token where kind = 'operator'",
    ],
    ["change a row of the audit trail", "update audit set actor_name = 'x'"],
    ["remove a row of the audit trail", "delete from audit"],
    ["empty the audit trail", "truncate audit"],
    ["switch the guard off", "alter table token disable trigger operator_token"],
    ["act as the owner", "set role kule_owner"],
    ["read the hash of a password", "select password_hash from app_user"],
    ["read it with all else of a person", "select * from app_user"],
    ["look for it", "select id from app_user where password_hash like '$argon2id%'"],
    [
      "have it told by a row that it writes",
      "update app_user set second_factor_reset_at = null returning password_hash",
    ],
    ["give a person another password", "update app_user set password_hash = 'x'"],
    ["give a person another e-mail", "update app_user set email = 'thief@example.org'"],
    [
      "open a session",
      "insert into token (id, kind, user_id, name, secret_hash, expires_at) values ('tok_s', 'session', 'usr_1', 'x', sha256('x'), now() + interval '1 hour')",
    ],
    ["make a token a session", "update token set kind = 'session'"],
    [
      "begin a sign-in",
      "insert into sign_in (id, secret_hash, user_id, expires_at) values ('sgn_1', sha256('x'), 'usr_1', now() + interval '1 hour')",
    ],
    ["take over a sign-in", "update sign_in set secret_hash = sha256('x')"],
    [
      "make a reset of a password",
      "insert into password_reset (user_id, id, secret_hash, expires_at) values ('usr_1', 'x', sha256('x'), now() + interval '1 hour')",
    ],
    ["take over a reset of a password", "update password_reset set secret_hash = sha256('x')"],
    [
      "add a passkey",
      "insert into passkey (id, user_id, name, credential, public_key, sign_count, transports, is_synced) values ('psk_1', 'usr_1', 'x', 'x', '', 0, '{}', false)",
    ],
    ["put its own key into a passkey", "update passkey set public_key = 'x'"],
    ["give a passkey to somebody else", "update passkey set user_id = 'usr_1'"],
    [
      "link an account at a provider",
      "insert into user_identity (id, user_id, issuer, subject) values ('idn_1', 'usr_1', 'https://x', 'x')",
    ],
    ["give an account at a provider to somebody else", "update user_identity set user_id = 'usr_1'"],
    ["make a reset as the worker does", "select kule_keep_password_reset('usr_1', 'x', '', 60)"],
    ["say that something was shown", 'select kule_person_shown(\'{"by":"new"}\')'],
  ])("%s", async (_what, sql) => {
    await api.query("begin");
    await expect(api.query(sql)).rejects.toMatchObject({ code: "42501" });
  });

  test("substitute a function or table of its own in the creation of operators' tokens", async () => {
    await api.query("begin");
    await api.query("create temporary table token as select * from public.token where false");
    await api.query(
      "insert into pg_temp.token (id, kind, secret_hash) values ('tok_own', 'operator', sha256('own'))",
    );
    await api.query("set local search_path = pg_temp, public");
    await expect(
      api.query(
        "select public.kule_mint_operator_token('tok_own', 'own', 'tok_2', null, 'x', '{}', sha256('x'), null, null)",
      ),
    ).rejects.toMatchObject({ code: "42501" });
  });
});

/** Everything that opens an account, with what a stolen connection can read or invent. */
describe("without what only the person has", () => {
  const proofs: readonly (readonly [string, string])[] = [
    ["a guessed password", `'{"by":"password","user":"usr_pw","hash":"$argon2id$v=19$m=1,t=1,p=1$x$guess"}'`],
    ["an empty hash of who has no password", `'{"by":"password","user":"usr_1","hash":null}'`],
    [
      "the hash of a session's secret",
      `(select jsonb_build_object('by', 'session', 'id', id, 'secret', encode(secret_hash, 'hex')) from token where id = 'tok_live')`,
    ],
    ["the id of a session", `'{"by":"session","id":"tok_live"}'`],
    ["the id of a sign-in", `'{"by":"sign_in","id":"sgn_live","secret":""}'`],
    ["the id of a reset", `'{"by":"reset","id":"pwr_live","secret":""}'`],
    ["a passkey that nobody has used", `'{"by":"passkey","id":"psk_live","challenge":"00"}'`],
    ["an account at a provider that nobody has used", `'{"by":"identity","id":"idn_live"}'`],
    ["the claim to be new", `'{"by":"new"}'`],
    ["no way at all", `'{"by":"faith"}'`],
    ["nothing", "'{}'"],
    ["null", "null"],
  ];
  const session = `jsonb_build_object('id', 'tok_s', 'name', 's', 'user_id', u.id, 'secret_hash', '00',
    'lifetime_seconds', 60, 'idle_seconds', 60, 'opened_by', 'password', 'is_proven', true)`;
  const acts: readonly (readonly [string, (proof: string) => string])[] = [
    ["opens no session", (proof) => `kule_open_session(${proof}, ${session})`],
    [
      "follows no session",
      (proof) => `kule_succeed_session(${proof}, 'tok_s', '\\x00', '${organisationId}')`,
    ],
    ["begins no sign-in", (proof) => `kule_begin_sign_in(${proof}, u.id, 'sgn_s', '\\x00', 60)`],
    ["sets no password", (proof) => `nullif(kule_set_password(${proof}, u.id, 'x'), false)`],
    ["makes no reset", (proof) => `kule_begin_password_reset(${proof}, u.id, 'pwr_s', '\\x00', 60)`],
    [
      "adds no passkey",
      (proof) =>
        `nullif(kule_add_passkey(${proof}, jsonb_build_object('id', 'psk_s', 'user_id', u.id, 'name', 'x', 'credential', 'c', 'public_key', '00', 'sign_count', 0, 'transports', '[]'::jsonb, 'is_synced', false)), false)`,
    ],
    [
      "links no account",
      (proof) =>
        `nullif(kule_link_identity(${proof}, jsonb_build_object('id', 'idn_s', 'user_id', u.id, 'issuer', 'i', 'subject', 's')), false)`,
    ],
  ];

  beforeAll(async () => {
    await owner.query(`
      insert into app_user (id, email, name, password_hash, is_operator)
      values ('usr_pw', 'two@example.org', 'Two', '$argon2id$v=19$m=1,t=1,p=1$x$y', true);
      insert into member (id, organisation_id, user_id, role) values ('mem_pw', '${organisationId}', 'usr_pw', 'owner');
      insert into token (id, kind, user_id, name, secret_hash, expires_at, proven_at)
      values ('tok_live', 'session', 'usr_pw', 's', sha256('secret'), now() + interval '1 hour', now());
      insert into sign_in (id, secret_hash, user_id, expires_at)
      values ('sgn_live', sha256('secret'), 'usr_1', now() + interval '1 hour');
      insert into password_reset (user_id, id, secret_hash, expires_at)
      values ('usr_1', 'pwr_live', sha256('secret'), now() + interval '1 hour');
      insert into user_identity (id, user_id, issuer, subject) values ('idn_live', 'usr_1', 'https://x', 'x');
      insert into passkey (id, user_id, name, credential, public_key, sign_count, transports, is_synced)
      values ('psk_live', 'usr_1', 'x', 'x', '', 0, '{}', false)`);
  });
  afterAll(() =>
    owner.query(`delete from passkey; delete from user_identity; delete from password_reset; delete from sign_in;
      delete from token where id = 'tok_live'; delete from member where id = 'mem_pw'`),
  );

  test.each(acts)("the API's role %s", async (_what, act) => {
    for (const [what, proof] of proofs) {
      await api.query("begin");
      const { rows } = await api.query(
        `select u.id, ${act(`${proof}::jsonb`)} as done from app_user u where u.id in ('usr_1', 'usr_pw')`,
      );
      expect(rows, what).toEqual([
        { id: "usr_1", done: null },
        { id: "usr_pw", done: null },
      ]);
      await api.query("rollback");
    }
  });

  test("a password alone opens no session of a person with a second factor", async () => {
    const right = `'{"by":"password","user":"usr_pw","hash":"$argon2id$v=19$m=1,t=1,p=1$x$y"}'::jsonb`;
    const open = `select kule_open_session(${right}, ${session}) as done from app_user u where u.id = 'usr_pw'`;
    await api.query("begin");
    expect((await api.query(open)).rows).toEqual([{ done: expect.any(Date) }]);
    await api.query("rollback");
    await owner.query(
      "insert into user_totp (user_id, sealed_secret, confirmed_at) values ('usr_pw', 'x', now())",
    );
    expect((await api.query(open)).rows).toEqual([{ done: null }]);
    const begun = await api.query(
      `select kule_begin_sign_in(${right}, 'usr_pw', 'sgn_s', '\\x00', 60) as done`,
    );
    expect(begun.rows).toEqual([{ done: expect.any(Date) }]);
    await owner.query("delete from user_totp; delete from sign_in where id = 'sgn_s'");
  });

  test("the parameters of a password's hash can be read, and not the hash", async () => {
    const { rows } = await api.query(
      "select kule_password_parameters(id) as known from app_user order by id",
    );
    expect(rows).toEqual([{ known: null }, { known: "$argon2id$v=19$m=1,t=1,p=1$x" }]);
  });

  test.each([
    ["sign_in", "sgn_live"],
    ["reset", "pwr_live"],
  ])("a proof by %s is used up by its use", async (by, id) => {
    const proof = `'{"by":"${by}","id":"${id}","secret":"secret"}'::jsonb`;
    const act =
      by === "reset"
        ? `nullif(kule_set_password(${proof}, u.id, 'x'), false)`
        : `kule_open_session(${proof}, ${session})`;
    const once = `select ${act} as done from app_user u where u.id = 'usr_1'`;
    await api.query("begin");
    const [first] = (await api.query(once)).rows;
    expect(first.done).not.toBeNull();
    expect((await api.query(once)).rows).toEqual([{ done: null }]);
    await api.query("rollback");
  });
});

/** With a stolen connection of kule_worker and nothing else. */
describe("the worker's database role cannot", () => {
  let worker: Client;
  beforeAll(async () => {
    worker = new Client({ connectionString: world.database.workerUrl });
    await worker.connect();
  });
  afterAll(() => worker.end());

  test.each([
    ["read the hash of a password", "select password_hash from app_user"],
    ["read the hash of a token's secret", "select secret_hash from token"],
    ["read a server's sealed password", "select sealed_password from server_secret"],
    ["read what answers have told once", "select body from idempotency_key"],
    ["make a person an operator", "update app_user set is_operator = true"],
    ["insert a token", "insert into token (id, kind, name, secret_hash) values ('t', 'operator', 'x', '')"],
    ["change a server", "update server set name = 'x'"],
    ["remove an organisation's row", "delete from job"],
    ["change a row of the audit trail", "update audit set actor_name = 'x'"],
    ["add a row to the audit trail", "insert into audit (id) values ('aud_x')"],
    ["open a session", "select kule_open_session('{}', '{}')"],
    ["act as the owner", "set role kule_owner"],
    ["make a table", "create table x (y integer)"],
  ])("%s", async (_what, sql) => {
    await expect(worker.query(sql)).rejects.toMatchObject({ code: "42501" });
  });

  test("skip an organisation's row where it reads all of them", async () => {
    const count = "select count(*)::integer as n from member";
    await owner.query(
      `insert into member (id, organisation_id, user_id, role) values ('mem_w', '${organisationId}', 'usr_1', 'viewer')`,
    );
    expect((await worker.query(count)).rows).toEqual((await owner.query(count)).rows);
    expect((await worker.query(count)).rows[0].n).toBeGreaterThan(0);
    await owner.query("delete from member where id = 'mem_w'");
  });
});

describe("an operator's token is created for a caller who presents the secret of a valid one", () => {
  const mint = (id: string, secret: string) =>
    api.query(
      "select kule_mint_operator_token($1, $2, 'tok_new', null, 'x', '{}', sha256('x'), null, null)",
      [id, secret],
    );
  const idOf = async (secret: string) => {
    const hash = createHash("sha256").update(secret).digest();
    return (await owner.query("select id from token where secret_hash = $1", [hash])).rows[0].id as string;
  };

  test("through the API: created, rotated, used", async () => {
    const made = await world.operator.post("/tokens", { name: "second" });
    expect(made.status).toBe(201);
    const rotated = await world.operator.post(`/tokens/${made.body.token.id}/rotate`, {});
    expect(rotated.status).toBe(201);
    const { rows } = await owner.query("select kind, expires_at > now() as lives from token where id = $1", [
      rotated.body.token.id,
    ]);
    expect(rows).toEqual([{ kind: "operator", lives: true }]);
  });

  test.each([
    ["has ended", "update token set expires_at = now() - interval '1 second' where id = $1"],
    ["was revoked", "update token set revoked_at = now() where id = $1"],
    [
      "is an organisation's",
      "update token set kind = 'organisation', role = 'owner', organisation_id = $2 where id = $1",
    ],
    ["is of a person who is no operator", "update token set user_id = 'usr_1' where id = $1"],
  ])("not of one that %s", async (_what, sql) => {
    const secret = await firstOperatorToken(world.database.ownerUrl);
    const id = await idOf(secret);
    await api.query("begin");
    await mint(id, secret);
    await api.query("rollback");
    await owner.query(sql, sql.includes("$2") ? [id, organisationId] : [id]);
    await expect(mint(id, secret)).rejects.toMatchObject({ code: "42501" });
  });
});
