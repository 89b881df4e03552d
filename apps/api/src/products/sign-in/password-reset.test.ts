import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { Authenticator } from "../../testing/authenticator.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let database: Client;
let operator: ApiCaller;
let people = 0;

const nobody = () => new ApiCaller(world.app, null);
const confirm = (secret: string, new_password: string, more: object = {}) =>
  nobody().post("/auth/password-reset/confirm", { secret, new_password, ...more });

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
  const admin = await addPerson();
  await database.query("update app_user set is_operator = true where email = $1", [admin.email]);
  operator = (await signIn(admin)).with({ "Kule-Organisation": acme.id });
});
afterAll(async () => {
  await database.end();
  await world.close();
});

async function addPerson(role = "viewer") {
  people += 1;
  const email = `person-${people}@example.org`;
  const { member, password } = await addMember(acme.owner, { email, role });
  return { email, password, memberId: member.id };
}

async function signIn({ email, password }: { email: string; password: string }) {
  const { body } = await nobody().post("/auth/login", { email, password });
  return new ApiCaller(world.app, body.token as string);
}

async function secretFor({ memberId }: { memberId: string }): Promise<string> {
  const made = await operator.post(`/members/${memberId}/password-reset`);
  expect(made.status).toBe(201);
  return made.body.secret as string;
}

test("the secret that an operator creates sets the password once and ends every session", async () => {
  const ada = await addPerson("admin");
  const session = await signIn(ada);
  const token = new ApiCaller(world.app, (await session.post("/tokens", { name: "ci" })).body.secret);
  const secret = await secretFor(ada);
  const { rows } = await database.query("select t::text as row from password_reset t");
  expect(JSON.stringify(rows)).not.toContain(secret);
  const password = "seven brave otters swam home";
  expect((await confirm(secret, password)).status).toBe(204);
  expect([(await session.get("/me")).status, (await token.get("/me")).status]).toEqual([401, 200]);
  expect((await nobody().post("/auth/login", { email: ada.email, password: ada.password })).status).toBe(401);
  expect((await nobody().post("/auth/login", { email: ada.email, password })).status).toBe(200);
  const again = await confirm(secret, "eight brave otters swam home");
  expect(again).toMatchObject({ status: 422, body: { errors: [{ field: "secret", code: "not_found" }] } });
  expect((await confirm(await secretFor(ada), password, { end_tokens: true })).status).toBe(204);
  expect((await token.get("/me")).status).toBe(401);
  const { items } = (await acme.owner.get("/audit?action=member.reset_password")).body;
  expect(items[0]).toMatchObject({ actor: { type: "operator" }, resource: ada.memberId });
});

test("a second factor is needed after it as before", async () => {
  const ada = await addPerson();
  const session = await signIn(ada);
  const app = new Authenticator((await session.post("/me/totp")).body.secret);
  expect((await session.post("/me/totp/confirm", { code: app.next() })).status).toBe(200);
  const password = "seven brave otters swam home";
  const set = await confirm(await secretFor(ada), password);
  expect([set.status, set.body]).toEqual([204, null]);
  expect((await nobody().post("/auth/login", { email: ada.email, password })).status).toBe(202);
});

test("of two concurrent uses one sets the password", async () => {
  const secret = await secretFor(await addPerson());
  const answers = await Promise.all(
    ["one tall tower by the sea", "two tall towers by the sea"].map((each) => confirm(secret, each)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 422]);
});

test("one that has expired, was replaced, made up or mistyped reads the same, and accepts no easy password", async () => {
  const ada = await addPerson();
  const replaced = await secretFor(ada);
  const secret = await secretFor(ada);
  const easy = await confirm(secret, "aaaaaaaaaaaaaaaa");
  expect(easy.body.errors).toMatchObject([{ field: "new_password", code: "too_easy" }]);
  await database.query("update password_reset set expires_at = clock_timestamp() - interval '1 second'");
  const wrong = [secret, replaced, `${secret.slice(0, -1)}_`, "kule_pwr_x"];
  const answers = await Promise.all(wrong.map((each) => confirm(each, "seven brave otters swam home")));
  for (const { status, body } of answers) {
    expect(status).toBe(422);
    expect(body.errors).toEqual(answers[0]?.body.errors);
  }
});

test("only an operator's session with a recent proof creates one", async () => {
  const ada = await addPerson();
  const path = `/members/${ada.memberId}/password-reset`;
  expect((await acme.owner.post(path)).status).toBe(403);
  const token = world.operator.with({ "Kule-Organisation": acme.id });
  expect((await token.post(path)).body.precondition.name).toBe("token_is_a_session");
  await database.query("update token set proven_at = null where kind = 'session'");
  expect((await operator.post(path)).body.code).toBe("proof_required");
});
