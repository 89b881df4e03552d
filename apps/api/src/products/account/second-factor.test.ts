import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { Authenticator } from "../../testing/authenticator.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let database: Client;
let people = 0;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await world.close();
});

const nobody = () => new ApiCaller(world.app, null);

type Ada = { email: string; password: string; memberId: string; caller: ApiCaller };

async function addPerson(): Promise<Ada> {
  people += 1;
  const email = `person-${people}@example.org`;
  const added = await addMember(acme.owner, { email, name: `Person ${people}`, role: "viewer" });
  const { password } = added;
  const login = await nobody().post("/auth/login", { email, password });
  const caller = new ApiCaller(world.app, login.body.token as string);
  return { email, password, memberId: added.member.id, caller };
}

async function enrol({ caller }: Ada): Promise<{ app: Authenticator; codes: string[] }> {
  const begun = await caller.post("/me/totp");
  expect(begun.status).toBe(200);
  const app = new Authenticator(begun.body.secret);
  const confirmed = await caller.post("/me/totp/confirm", { code: app.next() });
  expect(confirmed.status).toBe(200);
  return { app, codes: confirmed.body.recovery_codes };
}

async function firstStep({ email, password }: Ada): Promise<string> {
  const answer = await nobody().post("/auth/login", { email, password });
  expect(answer.status).toBe(202);
  expect(answer.body.token).toBeUndefined();
  return answer.body.sign_in as string;
}

const finish = (sign_in: string, factor: object) =>
  nobody().post("/auth/second-factor", { sign_in, ...factor });
const outdateProof = ({ email }: Ada) =>
  database.query(
    `update token set proven_at = now() - interval '11 minutes'
      where user_id = (select id from app_user where email = $1)`,
    [email],
  );

describe("an authenticator app", () => {
  test("is required once a code of it was confirmed, and not before", async () => {
    const ada = await addPerson();
    const begun = await ada.caller.post("/me/totp");
    expect(begun.body.otpauth_uri).toMatch(/^otpauth:\/\/totp\/Kule:.*secret=[A-Z2-7]{32}/);
    expect((await nobody().post("/auth/login", { email: ada.email, password: ada.password })).status).toBe(
      200,
    );
    const wrong = await ada.caller.post("/me/totp/confirm", { code: "000000" });
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([422, "incorrect"]);
    // The page was loaded again: the same secret, so what was scanned still counts.
    expect((await ada.caller.post("/me/totp")).body.secret).toBe(begun.body.secret);
    const { codes } = await enrol(ada);
    expect(codes).toHaveLength(10);
    expect((await ada.caller.get("/me/security")).body).toMatchObject({
      totp: { confirmed_at: expect.any(String) },
      recovery_codes_left: 10,
    });
    const signIn = await firstStep(ada);
    expect((await ada.caller.post("/me/totp")).body.code).toBe("already_enrolled");
    expect(signIn).toMatch(/^sgn_/);
  });

  test("finishes a sign-in, which the list of sessions shows", async () => {
    const ada = await addPerson();
    const { app } = await enrol(ada);
    const opened = await finish(await firstStep(ada), { code: app.next() });
    expect(opened.status).toBe(200);
    const here = new ApiCaller(world.app, opened.body.token);
    expect((await here.get("/me/sessions")).body.items[0]).toMatchObject({
      current: true,
      opened_by: "password_and_totp",
    });
  });

  test("gives codes that are accepted once, also by two concurrent requests", async () => {
    const ada = await addPerson();
    const { app } = await enrol(ada);
    const code = app.next();
    const signIns = [await firstStep(ada), await firstStep(ada), await firstStep(ada)];
    const answers = await Promise.all(signIns.map((signIn) => finish(signIn, { code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422]);
    // Neither is one that is older than the last, although a slow app would still show it.
    expect((await finish(await firstStep(ada), { code: app.at(Date.now()) })).status).toBe(422);
  });

  test("may be guessed at ten times in a quarter of an hour, in however many sign-ins", async () => {
    const ada = await addPerson();
    const { app } = await enrol(ada);
    const statuses: number[] = [];
    for (let guess = 0; guess < 11; guess += 1) {
      const code = String(guess * 7).padStart(6, "0");
      statuses.push((await finish(await firstStep(ada), { code })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(422), 429]);
    expect((await finish(await firstStep(ada), { code: app.next() })).status).toBe(429);
  });

  test("is removed after a fresh proof, which the password alone is not", async () => {
    const ada = await addPerson();
    const { app } = await enrol(ada);
    await outdateProof(ada);
    for (const act of [
      () => ada.caller.delete("/me/totp"),
      () => ada.caller.post("/me/recovery-codes"),
      () => ada.caller.post("/me/totp"),
    ])
      expect((await act()).body.code).toBe("proof_required");
    const byPassword = await ada.caller.post("/me/proof", { password: ada.password });
    expect([byPassword.status, byPassword.body.errors[0].field]).toEqual([422, "password"]);
    expect((await ada.caller.delete("/me/totp")).body.code).toBe("proof_required");
    expect((await ada.caller.post("/me/proof", { code: app.next() })).status).toBe(204);
    expect((await ada.caller.delete("/me/totp")).status).toBe(204);
    expect((await ada.caller.get("/me/security")).body).toMatchObject({ totp: null, recovery_codes_left: 0 });
    expect((await nobody().post("/auth/login", { email: ada.email, password: ada.password })).status).toBe(
      200,
    );
  });

  test("is added after a fresh proof, which the password is", async () => {
    const ada = await addPerson();
    await outdateProof(ada);
    expect((await ada.caller.post("/me/totp")).body.code).toBe("proof_required");
    expect((await ada.caller.post("/me/proof", { password: "wrong" })).status).toBe(422);
    expect((await ada.caller.post("/me/totp")).body.code).toBe("proof_required");
    expect((await ada.caller.post("/me/proof", { password: ada.password })).status).toBe(204);
    expect((await ada.caller.post("/me/totp")).status).toBe(200);
  });

  test("is stored sealed in the database, and nowhere in the trail", async () => {
    const ada = await addPerson();
    const { body } = await ada.caller.post("/me/totp", undefined, { "Idempotency-Key": `totp-${people}` });
    for (const table of ["user_totp", "audit", "idempotency_key"]) {
      const { rows } = await database.query(`select t::text as row from ${table} t`);
      expect(JSON.stringify(rows)).not.toContain(body.secret);
    }
  });
});

describe("recovery codes", () => {
  test("sign in once each, however they are typed", async () => {
    const ada = await addPerson();
    const { codes } = await enrol(ada);
    const [first = "", second = ""] = codes;
    expect((await finish(await firstStep(ada), { recovery_code: first.toUpperCase() })).status).toBe(200);
    expect((await finish(await firstStep(ada), { recovery_code: first })).status).toBe(422);
    const typed = second.replaceAll("-", " ");
    expect((await finish(await firstStep(ada), { recovery_code: typed })).status).toBe(200);
    expect((await ada.caller.get("/me/security")).body.recovery_codes_left).toBe(8);
    expect((await finish(await firstStep(ada), { recovery_code: "let-me-in" })).status).toBe(422);
  });

  test("are invalid once there are new ones", async () => {
    const ada = await addPerson();
    const { codes } = await enrol(ada);
    const fresh = await ada.caller.post("/me/recovery-codes");
    expect(fresh.body.recovery_codes).toHaveLength(10);
    expect((await finish(await firstStep(ada), { recovery_code: codes[0] })).status).toBe(422);
    const recovery = { recovery_code: fresh.body.recovery_codes[0] };
    expect((await finish(await firstStep(ada), recovery)).status).toBe(200);
  });

  test("are ten and no more when they are replaced twice at the same time", async () => {
    const ada = await addPerson();
    await enrol(ada);
    await database.query("begin");
    await database.query(
      "select 1 from recovery_code where user_id = (select id from app_user where email = $1) for update",
      [ada.email],
    );
    const twice = [1, 2].map(() => ada.caller.post("/me/recovery-codes"));
    const waiting = async () => {
      const { rows } = await database.query(
        `select count(*)::integer as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0].waiting;
    };
    await expect.poll(waiting, { timeout: 10_000, interval: 20 }).toBe(2);
    await database.query("commit");
    expect((await Promise.all(twice)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await ada.caller.get("/me/security")).body.recovery_codes_left).toBe(10);
  });

  test("are stored as hashes", async () => {
    const { codes } = await enrol(await addPerson());
    const { rows } = await database.query("select t::text as row from recovery_code t");
    for (const code of codes) expect(JSON.stringify(rows)).not.toContain(code.replaceAll("-", ""));
  });
});

describe("a sign-in that waits for its second step", () => {
  test("is no token, ends after five minutes and is used up", async () => {
    const ada = await addPerson();
    const { app } = await enrol(ada);
    const signIn = await firstStep(ada);
    expect((await new ApiCaller(world.app, signIn).get("/me")).status).toBe(401);
    const code = app.next();
    expect((await finish(signIn, { code })).status).toBe(200);
    expect((await finish(signIn, { code: app.next() })).status).toBe(401);
    const late = await firstStep(ada);
    await database.query("update sign_in set expires_at = now() - interval '1 second'");
    expect((await finish(late, { code: app.next() })).status).toBe(401);
    expect((await finish(`${late.slice(0, 31)}x`, { code })).status).toBe(401);
  });

  test("is invalid when the password is changed", async () => {
    const ada = await addPerson();
    const { app } = await enrol(ada);
    const signIn = await firstStep(ada);
    await ada.caller.put("/me/password", {
      current_password: ada.password,
      new_password: "seven brave otters swim",
    });
    expect((await finish(signIn, { code: app.next() })).status).toBe(401);
  });

  test("fails in the trail, without the code", async () => {
    const ada = await addPerson();
    await enrol(ada);
    const signIn = await firstStep(ada);
    const asked = { "X-Request-Id": `second-${people}` };
    await nobody().post("/auth/second-factor", { sign_in: signIn, code: "135790" }, asked);
    const { rows } = await database.query("select * from audit where request_id = $1", [
      asked["X-Request-Id"],
    ]);
    expect(rows).toMatchObject([{ action: "session.open", outcome: "refused", http_status: 422 }]);
    for (const secret of [signIn, "135790"]) expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

test("only callers who manage members see which members have a second factor", async () => {
  const ada = await addPerson();
  await enrol(ada);
  expect((await acme.owner.get(`/members/${ada.memberId}`)).body.second_factor).toBe(true);
  const plain = await addPerson();
  expect((await acme.owner.get(`/members/${plain.memberId}`)).body.second_factor).toBe(false);
  expect((await plain.caller.get(`/members/${ada.memberId}`)).body.second_factor).toBeNull();
});

test("an installation without a key says that it has none", async () => {
  const ada = await addPerson();
  const bare = await world.addReplica({ secrets: [] });
  expect((await ada.caller.at(bare.app).post("/me/totp")).body.code).toBe("not_configured");
});
