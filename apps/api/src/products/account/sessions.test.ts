import { createHash } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { type Answer, ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";

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

async function addPerson(organisation = acme) {
  people += 1;
  const email = `person-${people}@example.org`;
  const added = await addMember(organisation.owner, { email, name: `Person ${people}`, role: "viewer" });
  return { email, password: added.password, memberId: added.member.id };
}

async function signIn({ email, password }: { email: string; password: string }, userAgent = "Firefox") {
  const session = await nobody().post("/auth/login", { email, password }, { "User-Agent": userAgent });
  expect(session.status).toBe(200);
  return new ApiCaller(world.app, session.body.token as string);
}

const idOf = async (caller: ApiCaller) => (await caller.get("/me")).body.token.id as string;

describe("a member of several organisations", () => {
  async function addToTwo() {
    const ada = await addPerson();
    const slug = `aaa-${people}`;
    const other = await world.addOrganisation(slug);
    return { ada, other };
  }

  test("is signed in where they were last, and not where they were added last", async () => {
    const { ada, other } = await addToTwo();
    const first = await signIn(ada);
    await addMember(other.owner, { email: ada.email, password: ada.password, role: "viewer" });
    const organisationOf = async (caller: ApiCaller) => (await caller.get("/me")).body.organisation.id;
    // By name the other one sorts first.
    expect(await organisationOf(await signIn(ada))).toBe(acme.id);
    const switched = await first.post("/auth/switch-organisation", { organisation_id: other.id });
    expect(switched.status).toBe(200);
    expect(await organisationOf(await signIn(ada))).toBe(other.id);
  });

  test("leaves one of them: their tokens and invitations there end, and the other session continues", async () => {
    const { ada, other } = await addToTwo();
    const here = await signIn(ada);
    const { member } = await addMember(other.owner, {
      email: ada.email,
      password: ada.password,
      role: "admin",
    });
    const login = { email: ada.email, password: ada.password, organisation_id: other.id };
    const there = new ApiCaller(world.app, (await nobody().post("/auth/login", login)).body.token);
    const minted = new ApiCaller(world.app, (await there.post("/tokens", { name: "ci" })).body.secret);
    const guest = await there.post("/invitations", { email: `guest-${people}@example.org`, role: "viewer" });
    expect((await minted.delete(`/me/organisations/${other.id}`)).status).toBe(403);

    expect((await here.delete(`/me/organisations/${other.id}`)).status).toBe(204);
    expect([
      (await there.get("/me")).status,
      (await minted.get("/me")).status,
      (await here.get("/me")).status,
    ]).toEqual([401, 401, 200]);
    expect((await other.owner.get(`/invitations/${guest.body.invitation.id}`)).body.status).toBe("revoked");
    expect((await other.owner.get("/audit?action=member.leave&outcome=succeeded")).body.items).toMatchObject([
      { actor: { type: "user" }, resource: member.id, organisation_id: other.id, outcome: "succeeded" },
    ]);
    const absent = await here.delete("/me/organisations/org_00000000000000000000000000");
    const again = await here.delete(`/me/organisations/${other.id}`);
    expect([again.status, absent.status]).toEqual([404, 404]);
  });

  test("leaves one from another one, and with the same key is told so again", async () => {
    const { ada, other } = await addToTwo();
    const here = await signIn(ada);
    await addMember(other.owner, { email: ada.email, password: ada.password, role: "admin" });
    const leave = () => here.delete(`/me/organisations/${other.id}`, { "Idempotency-Key": "leave" });
    const answers = [await leave(), await leave()];
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    expect(answers.map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"]);
  });

  test("cannot leave one that would have no owner left", async () => {
    const { ada, other } = await addToTwo();
    const here = await signIn(ada);
    await addMember(other.owner, { email: ada.email, password: ada.password, role: "owner" });
    const refused = await here.delete(`/me/organisations/${other.id}`);
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: "last_owner",
        precondition: { name: "another_owner_remains", fix: "make another member an owner first" },
      },
    });
    await addMember(other.owner, { email: `heir-${people}@example.org`, role: "owner" });
    expect((await here.delete(`/me/organisations/${other.id}`)).status).toBe(204);
  });
});

describe("a changed password", () => {
  test("leaves the person's tokens valid, or ends all of them in every organisation, as requested", async () => {
    const ada = await addPerson();
    const other = await world.addOrganisation(`tokens-${people}`);
    await addMember(other.owner, { email: ada.email, password: ada.password, role: "admin" });
    const at = async (organisation_id: string, password: string) => {
      const login = await nobody().post("/auth/login", { email: ada.email, password, organisation_id });
      return new ApiCaller(world.app, login.body.token as string);
    };
    await acme.owner.patch(`/members/${ada.memberId}`, { role: "admin" });
    const here = await at(acme.id, ada.password);
    const tokens: ApiCaller[] = [];
    for (const session of [here, await at(other.id, ada.password)])
      tokens.push(new ApiCaller(world.app, (await session.post("/tokens", { name: "ci" })).body.secret));
    const statuses = () => Promise.all(tokens.map(async (token) => (await token.get("/me")).status));
    const change = (current_password: string, new_password: string, more: object = {}) =>
      here.put("/me/password", { current_password, new_password, ...more });
    expect((await change(ada.password, "seven brave otters swam")).status).toBe(204);
    expect(await statuses()).toEqual([200, 200]);
    const ended = await change("seven brave otters swam", "eight brave otters swam", { end_tokens: true });
    expect(ended.status).toBe(204);
    expect(await statuses()).toEqual([401, 401]);
    const { items } = (await acme.owner.get("/audit?action=password.change")).body;
    expect(items[0]).toMatchObject({ details: { tokens_revoked: 2 } });
  });
});

describe("sessions", () => {
  test("are listed with where they were opened, this one marked, and no other person's", async () => {
    const ada = await addPerson();
    const [home, phone, stranger] = [
      await signIn(ada),
      await signIn(ada, "Phone"),
      await signIn(await addPerson()),
    ];
    const { body } = await phone.get("/me/sessions");
    expect(body.items).toMatchObject([
      { id: await idOf(phone), current: true, user_agent: "Phone", opened_by: "password" },
      { id: await idOf(home), current: false, user_agent: "Firefox", organisation: { slug: "acme" } },
    ]);
    expect(body.items).toHaveLength(2);
    expect(JSON.stringify(body)).not.toContain(await idOf(stranger));
  });

  test("of another organisation of the person are listed too, until the person has left it", async () => {
    const other = await world.addOrganisation(`other-${Date.now()}`);
    const ada = await addPerson();
    const { member } = await addMember(other.owner, {
      email: ada.email,
      password: ada.password,
      role: "viewer",
    });
    const here = await signIn(ada);
    const login = { email: ada.email, password: ada.password, organisation_id: other.id };
    const there = new ApiCaller(world.app, (await nobody().post("/auth/login", login)).body.token);
    expect((await here.get("/me/sessions")).body.items).toMatchObject([
      { organisation: { id: other.id } },
      { organisation: { id: acme.id } },
    ]);
    await other.owner.delete(`/members/${member.id}`);
    expect((await here.get("/me/sessions")).body.items).toHaveLength(1);
    expect((await there.get("/me")).status).toBe(401);
  });

  test("end one by one, within a second at every replica", async () => {
    const ada = await addPerson();
    const [home, phone] = [await signIn(ada), await signIn(ada)];
    const second = await world.addReplica();
    expect((await phone.at(second.app).get("/me")).status).toBe(200);
    expect((await home.delete(`/me/sessions/${await idOf(phone)}`)).status).toBe(204);
    expect((await phone.get("/me")).status).toBe(401);
    const revokedAt = performance.now();
    await expect
      .poll(async () => (await phone.at(second.app).get("/me")).status, { timeout: 1000, interval: 20 })
      .toBe(401);
    expect(performance.now() - revokedAt).toBeLessThan(1000);
    expect((await home.get("/me")).status).toBe(200);
  });

  test("of others, ended ones and other tokens read like none", async () => {
    const [home, stranger] = [await signIn(await addPerson()), await signIn(await addPerson())];
    const ids = [await idOf(stranger), "tok_06ex2v3m8n4k6q1r5s7t9w0y2z", "x"];
    const gone = await signIn(await addPerson());
    const goneId = await idOf(gone);
    await gone.delete(`/me/sessions/${goneId}`);
    for (const id of [...ids, goneId]) expect((await home.delete(`/me/sessions/${id}`)).status).toBe(404);
    expect((await stranger.get("/me")).status).toBe(200);
  });

  test("all others end at once", async () => {
    const ada = await addPerson();
    const [home, ...others] = [await signIn(ada), await signIn(ada), await signIn(ada)];
    const stranger = await signIn(await addPerson());
    expect((await home.post("/me/sessions/end-others")).body).toEqual({ revoked: 2 });
    for (const other of others) expect((await other.get("/me")).status).toBe(401);
    for (const kept of [home, stranger]) expect((await kept.get("/me")).status).toBe(200);
  });

  test("are no business of tokens", async () => {
    const answer = await acme.owner.get("/me/sessions");
    expect([answer.status, answer.body.required]).toEqual([403, ["session"]]);
  });

  test("that are idle for two hours have ended, and those in use have not", async () => {
    const ada = await addPerson();
    const [idle, used] = [await signIn(ada), await signIn(ada)];
    const [idleId, usedId] = [await idOf(idle), await idOf(used)];
    // Their use is noted in the background, which must not come after the change below.
    await expect
      .poll(async () => {
        const noted = "select from token where id in ($1, $2) and last_used_at is not null";
        return (await database.query(noted, [idleId, usedId])).rowCount;
      })
      .toBe(2);
    await database.query(
      `update token set created_at = now() - interval '3 hours',
         last_used_at = case when id = $1 then now() - interval '121 minutes' else now() - interval '110 minutes' end
       where id in ($1, $2)`,
      [idleId, usedId],
    );
    world.replica.deps.tokens.dropCallers();
    expect((await idle.get("/me")).status).toBe(401);
    expect((await used.get("/me")).status).toBe(200);
    expect((await used.get("/me/sessions")).body.items).toHaveLength(1);
  });
});

describe("a changed password", () => {
  const fresh = "seven brave otters swim";
  const waits = async () => {
    const { rows } = await database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  };

  test("works from then on, and ends every other session", async () => {
    const ada = await addPerson();
    const [here, there] = [await signIn(ada), await signIn(ada)];
    const change = { current_password: ada.password, new_password: fresh };
    expect((await here.put("/me/password", change)).status).toBe(204);
    expect((await here.get("/me")).status).toBe(200);
    expect((await there.get("/me")).status).toBe(401);
    expect((await nobody().post("/auth/login", ada)).status).toBe(422);
    expect((await nobody().post("/auth/login", { email: ada.email, password: ada.password })).status).toBe(
      401,
    );
    await signIn({ email: ada.email, password: fresh });
  });

  test("needs the current one, as often as a login may fail", async () => {
    const ada = await addPerson();
    const here = await signIn(ada);
    const answers = [];
    for (let attempt = 0; attempt < 11; attempt += 1)
      answers.push(
        await here.put("/me/password", { current_password: `guess ${attempt}`, new_password: fresh }),
      );
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(422), 429]);
    expect(answers[0]?.body.errors).toMatchObject([{ field: "current_password", code: "incorrect" }]);
  });

  test.each([
    ["too short to last", "short", "too_short"],
    ["the same letter again and again", "aaaaaaaaaaaaaaaa", "too_easy"],
  ])("may not be %s", async (_what, password, code) => {
    const ada = await addPerson();
    const here = await signIn(ada);
    const answer = await here.put("/me/password", { current_password: ada.password, new_password: password });
    expect([answer.status, answer.body.errors[0].field, answer.body.errors[0].code]).toEqual([
      422,
      "new_password",
      code,
    ]);
  });

  test("is waited for by a login with the old one, which then opens nothing", async () => {
    const ada = await addPerson();
    await database.query("begin");
    await database.query("update app_user set password_hash = 'changed' where email = $1", [ada.email]);
    let answer: Answer | null = null;
    const login = nobody()
      .post("/auth/login", { email: ada.email, password: ada.password })
      .then((given) => {
        answer = given;
        return given;
      });
    // It has checked the old password by now, and waits for the row or has passed it.
    await expect
      .poll(async () => (await waits()) || answer !== null, { timeout: 10_000, interval: 20 })
      .toBe(true);
    await database.query("commit");
    expect((await login).status).toBe(401);
  });

  test("is not stored in the key of a limit, where it would be faster to guess", async () => {
    const ada = await addPerson();
    const here = await signIn(ada);
    const key = { "Idempotency-Key": `password-${people}` };
    const change = { current_password: ada.password, new_password: fresh };
    expect((await here.put("/me/password", change, key)).status).toBe(204);
    const again = await here.put("/me/password", change, key);
    expect([again.status, again.headers.get("Idempotency-Replayed")]).toEqual([204, "true"]);
    expect((await here.put("/me/password", { ...change, new_password: `${fresh}!` }, key)).status).toBe(422);
    const proof = { password: fresh };
    expect((await here.post("/me/proof", proof, key)).status).toBe(204);
    const { rows } = await database.query("select encode(request_hash, 'hex') as hash from idempotency_key");
    for (const body of [change, proof].map((each) => JSON.stringify(each)))
      for (const text of [body, `0:${body}`])
        expect(rows).not.toContainEqual({ hash: createHash("sha256").update(text).digest("hex") });
  });

  test("is the only one when two sessions change it at the same time, and ends the other", async () => {
    const ada = await addPerson();
    const sessions = [await signIn(ada), await signIn(ada)];
    const answers = await Promise.all(
      sessions.map((session, index) =>
        session.put("/me/password", { current_password: ada.password, new_password: `${fresh} ${index}` }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 422]);
    const first = answers.findIndex(({ status }) => status === 204);
    await signIn({ email: ada.email, password: `${fresh} ${first}` });
    const left = await Promise.all(sessions.map((session) => session.get("/me")));
    expect(left.map(({ status }) => status)).toEqual(first === 0 ? [200, 401] : [401, 200]);
  });

  test("is waited for by a session that it ends, which then changes nothing", async () => {
    const ada = await addPerson();
    const thief = await signIn(ada);
    await database.query("begin");
    await database.query("update app_user set password_hash = 'changed' where email = $1", [ada.email]);
    let answered = false;
    const adding = thief.post("/me/totp").finally(() => {
      answered = true;
    });
    await expect.poll(async () => (await waits()) || answered, { timeout: 10_000, interval: 20 }).toBe(true);
    await database.query(
      "update token set revoked_at = now() where user_id = (select id from app_user where email = $1)",
      [ada.email],
    );
    await database.query("commit");
    expect((await adding).body.code).toBe("proof_required");
  });

  test("is in the trail, without the passwords", async () => {
    const ada = await addPerson();
    const here = await signIn(ada);
    const asked = { "X-Request-Id": `changed-${people}` };
    await here.put("/me/password", { current_password: ada.password, new_password: fresh }, asked);
    const { rows } = await database.query("select * from audit where request_id = $1", [
      asked["X-Request-Id"],
    ]);
    expect(rows).toMatchObject([{ action: "password.change", outcome: "succeeded" }]);
    for (const secret of [ada.password, fresh]) expect(JSON.stringify(rows)).not.toContain(secret);
  });
});
