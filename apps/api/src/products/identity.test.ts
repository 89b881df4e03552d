import { signedVisitor, visitorHeader } from "@kule/contract/visitor";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../testing/add-member.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, type Replica, type TestOrganisation } from "../testing/api-world.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let database: Client;

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

const waitingForLocks = `
  select count(*)::integer as waiting from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;
const nobody = () => new ApiCaller(world.app, null);

async function addPerson(email: string, role: string) {
  return addMember(acme.owner, { email, name: email, role });
}

async function signIn(email: string, password: string): Promise<ApiCaller> {
  const session = await nobody().post("/auth/login", { email, password });
  expect(session.status).toBe(200);
  return new ApiCaller(world.app, session.body.token);
}

describe("signing in", () => {
  test("the chosen password opens a session with the member's role", async () => {
    const added = await addPerson("grace@example.org", "viewer");
    const session = await nobody().post("/auth/login", {
      email: "Grace@Example.org",
      password: added.password,
    });
    expect(session.status).toBe(200);
    expect(session.body).toMatchObject({
      token: expect.stringMatching(/^kule_ses_/),
      user: { email: "grace@example.org" },
      organisation: { id: acme.id, slug: "acme" },
    });
    const hours = (Date.parse(session.body.expires_at) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(11.9);
    expect(hours).toBeLessThan(12.1);
    const me = await new ApiCaller(world.app, session.body.token).get("/me");
    expect(me.body).toMatchObject({ actor: "user", role: "viewer", user: { email: "grace@example.org" } });
  });

  test("an unknown e-mail and a wrong password answer the same", async () => {
    await addPerson("known@example.org", "viewer");
    const headers = { "X-Request-Id": "same" };
    const wrong = await nobody().post("/auth/login", { email: "known@example.org", password: "x" }, headers);
    const unknown = await nobody().post(
      "/auth/login",
      { email: "nobody@example.org", password: "x" },
      headers,
    );
    expect(wrong.status).toBe(401);
    expect(unknown.body).toEqual(wrong.body);
  });

  test("ten failures in a quarter of an hour are enough, at whichever replica, also concurrently", async () => {
    const added = await addPerson("target@example.org", "viewer");
    const second = await world.addReplica();
    const attempts = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        (index % 2 === 0 ? nobody() : nobody().at(second.app)).post("/auth/login", {
          email: "target@example.org",
          password: `guess ${index}`,
        }),
      ),
    );
    const statuses = attempts.map((attempt) => attempt.status);
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(20);
    const right = { email: "target@example.org", password: added.password };
    const held = await nobody().post("/auth/login", right);
    expect(held.status).toBe(429);
    expect(Number(held.headers.get("retry-after"))).toBeGreaterThan(0);
    await database.query(
      "update login_failure set at = at - interval '16 minutes' where subject = 'email target@example.org'",
    );
    expect((await nobody().post("/auth/login", right)).status).toBe(200);
  });

  describe("at the panel", () => {
    const key = "a key that the console and the API share";
    let panel: Replica;
    beforeAll(async () => {
      panel = await world.addReplica({ consoleKeys: ["the next key, which is not in use yet", key] });
    });
    /** A visitor of the panel, which says where they are. */
    const visitor = (address: string, by = key) =>
      new ApiCaller(panel.app, null, { [visitorHeader]: signedVisitor(by, address) });
    const guess = async (at: ApiCaller, email: string, times = 10) => {
      const statuses: number[] = [];
      for (let index = 0; index < times; index += 1)
        statuses.push((await at.post("/auth/login", { email, password: `guess ${index}` })).status);
      return statuses;
    };

    test("a stranger who guesses locks out no other person", async () => {
      const added = await addPerson("guest@example.org", "viewer");
      const login = { email: "guest@example.org", password: added.password };
      const stranger = visitor("203.0.113.66");
      for (const [index, status] of (await guess(stranger, "not-here@example.org", 11)).entries())
        expect(status).toBe(index < 10 ? 401 : 429);
      expect((await stranger.post("/auth/login", login)).status).toBe(429);
      expect((await visitor("203.0.113.7").post("/auth/login", login)).status).toBe(200);
    });

    test("an address that the console has not signed is ignored", async () => {
      const before = await database.query(
        "select count(*) from login_failure where subject like 'address %'",
      );
      const forged = signedVisitor(key, "203.0.113.8").replace("203.0.113.8", "203.0.113.9");
      for (const header of [forged, "203.0.113.9", signedVisitor("another key", "203.0.113.9"), ""])
        await new ApiCaller(panel.app, null, { [visitorHeader]: header }).post("/auth/login", {
          email: "forged@example.org",
          password: "x",
        });
      const after = await database.query("select count(*) from login_failure where subject like 'address %'");
      expect(after.rows).toEqual(before.rows);
      const plain = await world.addReplica();
      await visitor("203.0.113.9")
        .at(plain.app)
        .post("/auth/login", { email: "f@example.org", password: "x" });
      expect(
        (await database.query("select count(*) from login_failure where subject like 'address %'")).rows,
      ).toEqual(before.rows);
    });

    test("a stranger who guesses at a person locks them out only where they were never signed in", async () => {
      const added = await addPerson("wanted@example.org", "viewer");
      const login = { email: "wanted@example.org", password: added.password };
      const home = visitor("2001:db8:7:7::1");
      expect((await home.post("/auth/login", login)).status).toBe(200);
      expect(await guess(visitor("198.51.100.1"), login.email)).toEqual(Array(10).fill(401));
      // The same house with another of its addresses.
      expect((await visitor("2001:db8:7:7:1:2:3:4").post("/auth/login", login)).status).toBe(200);
      // This resets no other address' count.
      expect((await visitor("198.51.100.2").post("/auth/login", login)).status).toBe(429);
      // Nor may one guess for ever from where they were.
      expect((await guess(home, login.email, 11)).at(-1)).toBe(429);
    });
  });

  test("a failed login is in the trail, without the password", async () => {
    const headers = { "X-Request-Id": "login-failed" };
    await nobody().post("/auth/login", { email: "who@example.org", password: "swordfish" }, headers);
    const { rows } = await database.query("select * from audit where request_id = 'login-failed'");
    expect(rows).toMatchObject([
      { action: "session.open", actor_type: "anonymous", outcome: "refused", http_status: 401 },
    ]);
    expect(JSON.stringify(rows)).toContain("who@example.org");
    expect(JSON.stringify(rows)).not.toContain("swordfish");
  });

  test("a session ends with logout; a token is not a session", async () => {
    const added = await addPerson("leaves@example.org", "viewer");
    const session = await signIn("leaves@example.org", added.password);
    expect((await session.post("/auth/logout")).status).toBe(204);
    expect((await session.get("/me")).status).toBe(401);
    const answer = await acme.owner.post("/auth/logout");
    expect([answer.status, answer.body.code]).toEqual([409, "invalid_state"]);
  });

  test("a user of two organisations names one; one that is not theirs reads like none", async () => {
    const second = await world.addOrganisation("zulu");
    const added = await addPerson("both@example.org", "viewer");
    const login = { email: "both@example.org", password: added.password };
    const again = await addMember(second.owner, { ...login, role: "admin" });
    expect(again.member.user.id).toBe(added.member.user.id);
    expect((await nobody().post("/auth/login", login)).body.organisation.id).toBe(acme.id);
    const chosen = await nobody().post("/auth/login", { ...login, organisation_id: second.id });
    expect(chosen.body.organisation.id).toBe(second.id);
    const third = await world.addOrganisation("third");
    const foreign = await nobody().post("/auth/login", { ...login, organisation_id: third.id });
    expect([foreign.status, foreign.body.errors[0].code]).toEqual([422, "not_found"]);
  });
});

describe("members", () => {
  test("a role above one's own cannot be granted, changed or removed", async () => {
    const owner = await addPerson("boss@example.org", "owner");
    const added = await addPerson("admin@example.org", "admin");
    const admin = await signIn("admin@example.org", added.password);
    const give = await admin.post("/invitations", { email: "x@example.org", role: "owner" });
    const raise = await admin.patch(`/members/${added.member.id}`, { role: "owner" });
    const lower = await admin.patch(`/members/${owner.member.id}`, { role: "viewer" });
    const remove = await admin.delete(`/members/${owner.member.id}`);
    expect([give, raise, lower, remove].map((answer) => answer.status)).toEqual([403, 403, 403, 403]);
    expect(give.body.required).toEqual(["member:manage"]);
  });

  test("an organisation keeps an owner, even when two step down at the same time", async () => {
    const solo = await world.addOrganisation("solo");
    const add = async (email: string) => (await addMember(solo.owner, { email, role: "owner" })).member.id;
    const members = [await add("one@solo.example"), await add("two@solo.example")];
    const answers = await Promise.all(
      members.map((id) => solo.owner.patch(`/members/${id}`, { role: "viewer" })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409]);
    const last = answers.find((answer) => answer.status === 409);
    expect(last?.body.code).toBe("last_owner");
    const owner = (await solo.owner.get("/members")).body.items.find(
      (member: { role: string }) => member.role === "owner",
    );
    expect((await solo.owner.delete(`/members/${owner.id}`)).body.code).toBe("last_owner");
  });

  test("of three owners who remove one another at the same time, a removed one removes nobody", async () => {
    const trio = await world.addOrganisation("trio");
    const owners = await Promise.all(
      ["one", "two", "three"].map(async (name) => {
        const email = `${name}@trio.example`;
        const { member, password } = await addMember(trio.owner, { email, name, role: "owner" });
        return { id: member.id, session: await signIn(email, password) };
      }),
    );
    const victims = owners.map((_, index) => owners[(index + 1) % owners.length]?.id);
    // All three pass the first check before the first of them has the lock.
    await database.query("begin");
    await database.query("select 1 from organisation where id = $1 for update", [trio.id]);
    const removing = owners.map(({ session }, index) => session.delete(`/members/${victims[index]}`));
    await expect
      .poll(async () => (await database.query(waitingForLocks)).rows[0].waiting, { timeout: 10_000 })
      .toBe(3);
    await database.query("commit");
    const statuses = (await Promise.all(removing)).map(({ status }) => status);
    // In whichever order they run: the one that comes after their own removal is refused.
    expect(statuses.sort()).toEqual([204, 204, 403]);
    expect((await trio.owner.get("/members")).body.items).toHaveLength(1);
  });

  test("a member who has just lost the role cannot invite", async () => {
    const quit = await world.addOrganisation("quit");
    const { member, password } = await addMember(quit.owner, { email: "admin@quit.example", role: "admin" });
    const admin = await signIn("admin@quit.example", password);
    await database.query("begin");
    await database.query("select 1 from organisation where id = $1 for update", [quit.id]);
    const accomplice = { email: "friend@quit.example", role: "viewer" };
    let answered = false;
    const inviting = admin.post("/invitations", accomplice).finally(() => {
      answered = true;
    });
    await expect
      .poll(async () => answered || (await database.query(waitingForLocks)).rows[0].waiting === 1, {
        timeout: 10_000,
      })
      .toBe(true);
    await database.query("update member set role = 'member' where id = $1", [member.id]);
    await database.query("commit");
    expect((await inviting).status).toBe(403);
    const { items } = (await quit.owner.get("/invitations")).body;
    expect(items.map(({ status }: { status: string }) => status)).toEqual(["accepted"]);
  });

  test("a role counts at once, and with a member go their sessions and tokens", async () => {
    const added = await addPerson("brief@example.org", "admin");
    const session = await signIn("brief@example.org", added.password);
    const minted = await session.post("/tokens", { name: "theirs", role: "admin" });
    expect(minted.status).toBe(201);
    const token = new ApiCaller(world.app, minted.body.secret);
    expect((await token.get("/audit")).status).toBe(200);
    await acme.owner.patch(`/members/${added.member.id}`, { role: "viewer" });
    // Tokens that they minted may no more than they may.
    expect([(await session.get("/audit")).status, (await token.get("/audit")).status]).toEqual([403, 403]);
    expect((await acme.owner.delete(`/members/${added.member.id}`)).status).toBe(204);
    expect([(await session.get("/me")).status, (await token.get("/me")).status]).toEqual([401, 401]);
  });
});

describe("tokens", () => {
  test("a token is shown once, has its role and scopes, and ends when it says", async () => {
    const body = { name: "ci", role: "member", scopes: ["server:*", "job:read"], expires_in_days: 30 };
    const minted = await acme.owner.post("/tokens", body);
    expect(minted.status).toBe(201);
    expect(minted.body.secret.startsWith(`${minted.body.token.prefix}_`)).toBe(true);
    const days = (Date.parse(minted.body.token.expires_at) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    const read = await acme.owner.get(`/tokens/${minted.body.token.id}`);
    expect(JSON.stringify(read.body)).not.toContain(minted.body.secret);
    const me = await new ApiCaller(world.app, minted.body.secret).get("/me");
    expect(me.body).toMatchObject({
      role: "member",
      permissions: [
        "job:read",
        "server:console",
        "server:create",
        "server:delete",
        "server:password_reset",
        "server:read",
        "server:rebuild",
        "server:update",
      ],
    });
  });

  test("a scope that covers nothing the role may do is a mistake and is refused", async () => {
    const body = { name: "x", role: "viewer", scopes: ["server:read", "server:create", "sevrer:*"] };
    const answer = await acme.owner.post("/tokens", body);
    expect(answer.body.errors.map((error: { field: string }) => error.field)).toEqual([
      "scopes[1]",
      "scopes[2]",
    ]);
  });

  test("a narrow token that may manage tokens cannot make itself a wide one", async () => {
    const narrow = await world.addToken(acme.id, "admin", ["token:*"]);
    const wide = await narrow.post("/tokens", { name: "wide", role: "admin" });
    expect(wide.status).toBe(403);
    expect(wide.body.required).toContain("server:create");
    const owner = await narrow.post("/tokens", { name: "owner", role: "owner", scopes: ["token:read"] });
    expect(owner.status).toBe(403);
    const own = await acme.owner.post("/tokens", { name: "to rotate", role: "admin" });
    expect((await narrow.post(`/tokens/${own.body.token.id}/rotate`)).status).toBe(403);
    expect(
      (await narrow.post("/tokens", { name: "as narrow", role: "admin", scopes: ["token:read"] })).status,
    ).toBe(201);
  });

  test("a rotated token has a successor like it, and works on for the overlap only", async () => {
    const { body: first } = await acme.owner.post("/tokens", { name: "rotate", scopes: ["ssh_key:read"] });
    const old = new ApiCaller(world.app, first.secret);
    const path = `/tokens/${first.token.id}/rotate`;
    const second = await acme.owner.post(path, { overlap_seconds: 3600 });
    expect(second.status).toBe(201);
    expect(second.body.token).toMatchObject({ name: "rotate", role: "member", scopes: ["ssh_key:read"] });
    expect([
      (await old.get("/me")).status,
      (await new ApiCaller(world.app, second.body.secret).get("/me")).status,
    ]).toEqual([200, 200]);
    const ends = (await acme.owner.get(`/tokens/${first.token.id}`)).body.expires_at;
    expect(Math.round((Date.parse(ends) - Date.now()) / 60_000)).toBe(60);
    expect((await acme.owner.post(path)).status).toBe(201);
    expect((await old.get("/me")).status).toBe(401);
    const again = await acme.owner.post(path);
    expect([again.status, again.body.current_status]).toEqual([409, "revoked"]);
  });

  test("a rotated token belongs to the person who rotated it, and ends with their membership", async () => {
    const [maker, rotator] = [
      await addPerson("maker@example.org", "admin"),
      await addPerson("rotator@example.org", "admin"),
    ];
    const minted = await (await signIn("maker@example.org", maker.password)).post("/tokens", {
      name: "ci",
      role: "admin",
    });
    const session = await signIn("rotator@example.org", rotator.password);
    const rotated = await session.post(`/tokens/${minted.body.token.id}/rotate`);
    const kept = new ApiCaller(world.app, rotated.body.secret);
    await acme.owner.patch(`/members/${rotator.member.id}`, { role: "viewer" });
    expect([(await kept.get("/me")).body.role, (await kept.get("/audit")).status]).toEqual(["viewer", 403]);
    await acme.owner.delete(`/members/${rotator.member.id}`);
    expect((await kept.get("/me")).status).toBe(401);
  });

  test("a session mints and rotates them with a fresh proof only", async () => {
    const { password } = await addPerson("prover@example.org", "admin");
    const session = await signIn("prover@example.org", password);
    const { token } = (await session.post("/tokens", { name: "fresh" })).body;
    await database.query(
      "update token set proven_at = clock_timestamp() - interval '11 minutes' where kind = 'session'",
    );
    const minted = await session.post("/tokens", { name: "late" });
    const rotated = await session.post(`/tokens/${token.id}/rotate`);
    for (const refused of [minted, rotated])
      expect(refused).toMatchObject({
        status: 409,
        body: { code: "proof_required", precondition: { fix: "POST /me/proof" } },
      });
    expect((await session.post("/me/proof", { password })).status).toBe(204);
    expect((await session.post("/tokens", { name: "proven" })).status).toBe(201);
    expect((await session.post(`/tokens/${token.id}/rotate`)).status).toBe(201);
  });

  test("an operator enters an organisation for a day, with a reason that the organisation reads", async () => {
    const acting = world.operator.with({ "Kule-Organisation": acme.id });
    const silent = await acting.post("/tokens", { name: "look", role: "owner", expires_in_days: 2 });
    expect([silent.status, silent.body.errors.map(({ field }: { field: string }) => field)]).toEqual([
      422,
      ["reason", "expires_in_days"],
    ]);
    const reason = "ticket 4711: the owner has left";
    const entered = await acting.post("/tokens", { name: "look", role: "owner", reason });
    expect(entered.status).toBe(201);
    const lastsHours = (token: { expires_at: string }) =>
      (Date.parse(token.expires_at) - Date.now()) / 3_600_000;
    expect(lastsHours(entered.body.token)).toBeLessThan(24.1);
    const { items } = (await acme.owner.get(`/audit?resource=${entered.body.token.id}`)).body;
    expect(items).toMatchObject([
      { action: "token.create", actor: { type: "operator" }, details: { operator_reason: reason } },
    ]);
    expect((await acme.owner.get(`/tokens/${entered.body.token.id}`)).body.operator_reason).toBe(reason);

    // Nothing that is created with it lasts longer.
    const inside = new ApiCaller(world.app, entered.body.secret);
    const kept = (await inside.post("/tokens", { name: "kept", role: "owner", expires_in_days: 90 })).body;
    const own = (await acme.owner.post("/tokens", { name: "theirs", expires_in_days: 90 })).body;
    const taken = (await inside.post(`/tokens/${own.token.id}/rotate`)).body;
    const again = (await acme.owner.post(`/tokens/${kept.token.id}/rotate`)).body;
    for (const { token } of [kept, taken, again]) {
      expect(lastsHours(token)).toBeLessThan(24.1);
      expect(token.operator_reason).toBe(reason);
    }
    const other = (await acme.owner.post("/tokens", { name: "another", expires_in_days: 90 })).body;
    const path = `/tokens/${other.token.id}/rotate`;
    expect((await acting.post(path, {})).body.errors).toMatchObject([{ field: "reason", code: "required" }]);
    expect(lastsHours((await acting.post(path, { reason })).body.token)).toBeLessThan(24.1);
  });

  test("tokens of an organisation and of the operators are separate lists", async () => {
    const minted = await world.operator.post("/tokens", { name: "second operator" });
    expect(minted.body.secret).toMatch(/^kule_ops_/);
    const listed = await world.operator.get("/tokens");
    expect(listed.body.items.map((token: { kind: string }) => token.kind)).toEqual(["operator", "operator"]);
    const here = world.operator.with({ "Kule-Organisation": acme.id });
    expect((await here.get(`/tokens/${minted.body.token.id}`)).status).toBe(404);
    expect((await acme.owner.get(`/tokens/${minted.body.token.id}`)).status).toBe(404);
    const withRole = await world.operator.post("/tokens", { name: "x", role: "viewer" });
    expect(withRole.body.errors).toMatchObject([{ field: "role", code: "conflicts_with" }]);
  });
});

describe("organisations", () => {
  test("a slug is used once", async () => {
    const answer = await world.operator.post("/organisations", { slug: "acme", name: "Acme again" });
    expect([answer.status, answer.body.code]).toEqual([409, "name_taken"]);
  });

  test("a suspended organisation can read and leave, but change nothing, until it is resumed", async () => {
    const late = await world.addOrganisation("late");
    const second = await world.addReplica();
    const path = `/organisations/${late.id}`;
    const suspended = await world.operator.patch(path, { status: "suspended" }, { "If-Match": '"g1"' });
    expect(suspended.body).toMatchObject({ status: "suspended", generation: 2 });
    expect((await late.owner.get("/organisation")).body.status).toBe("suspended");
    const refused = await late.owner.post("/tokens", { name: "x" });
    expect([refused.status, refused.body.code]).toEqual([409, "organisation_suspended"]);
    expect((await late.owner.post("/tokens", {})).status).toBe(422);
    await expect
      .poll(async () => (await late.owner.at(second.app).post("/tokens", { name: "x" })).status, {
        timeout: 2_000,
      })
      .toBe(409);
    await world.operator.patch(path, { status: "active" });
    expect((await late.owner.post("/tokens", { name: "x" })).status).toBe(201);
  });

  test("an operator's change of what has changed meanwhile is refused", async () => {
    const stale = { "If-Match": '"g9"' };
    const answer = await world.operator.patch(`/organisations/${acme.id}`, { name: "New" }, stale);
    expect(answer.status).toBe(412);
    expect((await world.operator.patch("/organisations/org_x", { name: "New" })).status).toBe(404);
  });
});
