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
  ])("%s", async (_what, sql) => {
    await api.query("begin");
    await expect(api.query(sql)).rejects.toMatchObject({ code: "42501" });
  });

  test("have its own function or table taken for ours by the one that makes operators' tokens", async () => {
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

describe("an operator's token is made for who shows the secret of one that lives", () => {
  const mint = (id: string, secret: string) =>
    api.query(
      "select kule_mint_operator_token($1, $2, 'tok_new', null, 'x', '{}', sha256('x'), null, null)",
      [id, secret],
    );
  const idOf = async (secret: string) => {
    const hash = createHash("sha256").update(secret).digest();
    return (await owner.query("select id from token where secret_hash = $1", [hash])).rows[0].id as string;
  };

  test("through the API: made, rotated, used", async () => {
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
