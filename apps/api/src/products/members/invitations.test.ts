import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withChecksum } from "../../platform/tokens.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { cleanUp } from "../../worker/clean-up.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let other: TestOrganisation;
let database: Client;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  other = await world.addOrganisation("other");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await world.close();
});

const nobody = () => new ApiCaller(world.app, null);
const password = "correct horse battery";
let people = 0;
const newEmail = () => {
  people += 1;
  return `person-${people}@example.org`;
};

type Invited = {
  readonly invitation: { readonly id: string; readonly email: string };
  readonly secret: string;
};

async function invite(email: string, role = "member", by = acme.owner, more: object = {}): Promise<Invited> {
  const answer = await by.post("/invitations", { email, role, ...more });
  expect(answer.status).toBe(201);
  return answer.body;
}

const accept = (secret: string, chosen = password) =>
  nobody().post("/auth/invitation/accept", { secret, name: "Grace Hopper", password: chosen });

async function logIn(email: string, organisation?: TestOrganisation): Promise<ApiCaller> {
  const session = await nobody().post("/auth/login", {
    email,
    password,
    ...(organisation === undefined ? {} : { organisation_id: organisation.id }),
  });
  expect(session.status).toBe(200);
  return new ApiCaller(world.app, session.body.token);
}

/** A person with a session, who joined by an invitation. */
async function joined(role: string, organisation = acme): Promise<{ email: string; session: ApiCaller }> {
  const email = newEmail();
  expect((await accept((await invite(email, role, organisation.owner)).secret)).status).toBe(200);
  return { email, session: await logIn(email) };
}

const statusOf = async ({ invitation }: Invited, by = acme.owner) =>
  (await by.get(`/invitations/${invitation.id}`)).body.status;
const isOpen = async ({ secret }: Invited) =>
  (await nobody().post("/auth/invitation", { secret })).status === 200;

describe("an invitation", () => {
  test("lets a new person in once, with the password that they choose and the role that was given", async () => {
    const email = newEmail();
    const invited = await invite(email, "viewer");
    expect(invited).toMatchObject({
      secret: expect.stringMatching(/^kule_inv_/),
      invitation: { email, role: "viewer", status: "open", invited_by: { type: "token" } },
    });
    const offer = await nobody().post("/auth/invitation", { secret: invited.secret });
    expect(offer.body).toMatchObject({ organisation: { slug: "acme" }, email, role: "viewer" });
    const done = await accept(invited.secret);
    expect(done.status).toBe(200);
    expect(done.body).toMatchObject({ organisation: { slug: "acme" }, member: { role: "viewer" } });
    const me = await (await logIn(email)).get("/me");
    expect(me.body).toMatchObject({ role: "viewer", user: { email, name: "Grace Hopper" } });

    const again = await accept(invited.secret);
    expect(again).toMatchObject({
      status: 422,
      body: { errors: [{ code: "not_found", pointer: "/secret" }] },
    });
    expect(await statusOf(invited)).toBe("accepted");
  });

  test("stores no secret, and records who joined and how in the trail", async () => {
    const email = newEmail();
    const { invitation, secret } = await invite(email);
    const done = await accept(secret);
    for (const table of ["invitation", "audit", "app_user", "idempotency_key"]) {
      const { rows } = await database.query(`select t::text as row from ${table} t`);
      for (const { row } of rows) {
        expect(row).not.toContain(secret);
        expect(row).not.toContain(password);
      }
    }
    const { items } = (await acme.owner.get(`/audit?resource=${done.body.member.id}`)).body;
    expect(items).toMatchObject([
      {
        action: "member.join",
        outcome: "succeeded",
        actor: { type: "user", name: "Grace Hopper" },
        details: { invitation_id: invitation.id, new_user: true },
      },
    ]);
  });

  test("accepts no password that is too easy, with the same answer for new people and known ones", async () => {
    const known = (await joined("viewer", other)).email;
    for (const email of [newEmail(), known]) {
      const { secret } = await invite(email);
      for (const easy of ["aaaaaaaaaaaaaaaa", `${email} kule`]) {
        const answer = await accept(secret, easy);
        expect([answer.status, answer.body.errors]).toMatchObject([
          422,
          [{ field: "password", code: "too_easy" }],
        ]);
      }
    }
  });

  test("is not repeated by a replay of its creation", async () => {
    const body = { email: newEmail(), role: "viewer" };
    const first = await acme.owner.post("/invitations", body, { "Idempotency-Key": "invite-once" });
    const second = await acme.owner.post("/invitations", body, { "Idempotency-Key": "invite-once" });
    expect(second.body).toMatchObject({
      invitation: { id: first.body.invitation.id },
      secret: null,
      secret_withheld: true,
    });
  });

  test("of two concurrent uses lets one in", async () => {
    const invited = await invite(newEmail());
    const answers = await Promise.all([
      accept(invited.secret),
      accept(invited.secret),
      accept(invited.secret),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const { rows } = await database.query("select count(*)::integer as n from app_user where email = $1", [
      invited.invitation.email,
    ]);
    expect(rows[0].n).toBe(1);
  });

  test("that is withdrawn while it is accepted admits no one", async () => {
    const { invitation, secret } = await invite(newEmail());
    // Holds the row as a withdrawal does; the acceptance waits for it after it has read the invitation as
    // open.
    await database.query("begin");
    await database.query("select 1 from organisation where id = $1 for update", [acme.id]);
    const accepting = accept(secret);
    await expect
      .poll(
        async () =>
          (
            await database.query(
              "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            )
          ).rowCount,
        { timeout: 15_000, interval: 20 },
      )
      .toBe(1);
    await database.query("update invitation set revoked_at = clock_timestamp() where id = $1", [
      invitation.id,
    ]);
    await database.query("commit");
    expect((await accepting).status).toBe(422);
    const { rowCount } = await database.query("select from app_user where email = $1", [invitation.email]);
    expect(rowCount).toBe(0);
  });

  test("that was made up, mistyped, used, withdrawn or has expired answers the same", async () => {
    const open = await invite(newEmail());
    const withdrawn = await invite(newEmail());
    expect((await acme.owner.delete(`/invitations/${withdrawn.invitation.id}`)).status).toBe(204);
    const expired = await invite(newEmail());
    await database.query(
      "update invitation set created_at = now() - interval '8 days', expires_at = now() - interval '1 day' where id = $1",
      [expired.invitation.id],
    );
    const used = await invite(newEmail());
    await accept(used.secret);
    const random = `${open.secret.slice(0, 60)}${"x".repeat(open.secret.length - 60)}`;
    // All of it right except the secret part.
    const guessed = withChecksum(`${open.secret.slice(0, -38)}${"x".repeat(32)}`);
    const answers = await Promise.all(
      [withdrawn.secret, expired.secret, used.secret, random, guessed, "nonsense"].flatMap((secret) => [
        nobody().post("/auth/invitation", { secret }, { "X-Request-Id": "same" }),
        nobody().post("/auth/invitation/accept", { secret, name: "x", password }, { "X-Request-Id": "same" }),
      ]),
    );
    const [first] = answers;
    for (const answer of answers) {
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toEqual(first?.body.errors);
    }
    expect(await statusOf(withdrawn)).toBe("revoked");
    expect(await statusOf(expired)).toBe("expired");
    const shown = (await acme.owner.get("/invitations?status=expired&status=revoked&limit=200")).body.items;
    expect(shown.map((each: { id: string }) => each.id)).toEqual(
      expect.arrayContaining([withdrawn.invitation.id, expired.invitation.id]),
    );
    expect(new Set(shown.map((each: { status: string }) => each.status))).toEqual(
      new Set(["expired", "revoked"]),
    );
  });

  test("is one for a person at a time; after its end there may be another", async () => {
    const email = newEmail();
    const first = await invite(email);
    const twice = await acme.owner.post("/invitations", { email: email.toUpperCase(), role: "viewer" });
    expect(twice).toMatchObject({
      status: 409,
      body: { code: "already_invited", precondition: { resource: first.invitation.id } },
    });
    await database.query(
      "update invitation set created_at = now() - interval '8 days', expires_at = now() - interval '1 day' where id = $1",
      [first.invitation.id],
    );
    await invite(email);
    expect(await statusOf(first)).toBe("expired");
    await invite(email, "member", other.owner);
    const member = await joined("viewer");
    expect((await acme.owner.post("/invitations", { email: member.email, role: "viewer" })).body.code).toBe(
      "already_member",
    );
  });
});

describe("whether an e-mail has an account", () => {
  test("no answer to an invitation reveals", async () => {
    const { email } = await joined("viewer", other);
    const shape = ({ status, body }: { status: number; body: unknown }, mine: string) =>
      `${status} ${JSON.stringify(body)
        .replaceAll(/"(id|secret|created_at|expires_at)":"[^"]*"/g, '"$1":""')
        .replaceAll(mine, "<email>")}`;
    const answers: string[] = [];
    for (const mine of [email, newEmail()]) {
      const invited = await acme.owner.post("/invitations", { email: mine, role: "viewer" });
      const offer = await nobody().post("/auth/invitation", { secret: invited.body.secret });
      answers.push(shape(invited, mine) + shape(offer, mine));
    }
    expect(answers[0]).toBe(answers[1]);
  });

  test("a person with an account joins with its password and no other, ten tries at most", async () => {
    const { email } = await joined("viewer", other);
    const invited = await invite(email, "admin");
    for (let attempt = 0; attempt < 9; attempt += 1)
      expect((await accept(invited.secret, `not my password ${attempt}`)).status).toBe(401);
    expect(await isOpen(invited)).toBe(true);
    expect((await accept(invited.secret)).status).toBe(200);
    const session = await logIn(email, acme);
    // The typed name is ignored, and the other membership is unchanged.
    expect((await session.get("/me")).body).toMatchObject({ role: "admin", organisation: { slug: "acme" } });
    expect((await session.get("/me/organisations")).body.items).toMatchObject([
      { slug: "acme", role: "admin", current: true },
      { slug: "other", role: "viewer", current: false },
    ]);

    const victim = await joined("viewer", other);
    const bait = await invite(victim.email);
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1)
      statuses.push((await accept(bait.secret, `guess number ${attempt}`)).status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.slice(10)).toEqual([429, 429]);
    await database.query("delete from login_failure");
  });
});

describe("who may invite", () => {
  test("admins up to their own role; others not at all", async () => {
    const { session } = await joined("admin");
    expect((await session.post("/invitations", { email: newEmail(), role: "owner" })).status).toBe(403);
    const owners = await invite(newEmail(), "owner");
    expect((await session.delete(`/invitations/${owners.invitation.id}`)).status).toBe(403);
    const { session: member } = await joined("member");
    for (const answer of [
      await member.post("/invitations", { email: newEmail(), role: "viewer" }),
      await member.get("/invitations"),
    ])
      expect(answer).toMatchObject({ status: 403, body: { required: ["member:manage"] } });
  });

  test("what a member invited to ends with their membership", async () => {
    const { email, session } = await joined("admin");
    const invited = await invite(newEmail(), "admin", session);
    const theirToken = (await session.post("/tokens", { name: "t", role: "admin" })).body.secret;
    const byToken = await invite(newEmail(), "viewer", new ApiCaller(world.app, theirToken));
    const untouched = await invite(newEmail());
    const { items } = (await acme.owner.get("/members?limit=200")).body;
    const member = items.find((each: { user: { email: string } }) => each.user.email === email);
    expect((await acme.owner.delete(`/members/${member.id}`)).status).toBe(204);
    expect([await isOpen(invited), await isOpen(byToken), await isOpen(untouched)]).toEqual([
      false,
      false,
      true,
    ]);
    const [note] = (await acme.owner.get(`/audit?resource=${member.id}&action=member.remove`)).body.items;
    expect(note.details.invitations_revoked).toHaveLength(2);
  });

  test("and with a role that does not reach as far any more", async () => {
    const { email, session } = await joined("owner");
    const asOwner = await invite(newEmail(), "owner", session);
    const asViewer = await invite(newEmail(), "viewer", session);
    const { items } = (await acme.owner.get("/members?limit=200")).body;
    const member = items.find((each: { user: { email: string } }) => each.user.email === email);
    expect((await acme.owner.patch(`/members/${member.id}`, { role: "owner" })).status).toBe(200);
    const { session: second } = await joined("owner");
    expect((await second.patch(`/members/${member.id}`, { role: "admin" })).status).toBe(200);
    expect([await isOpen(asOwner), await isOpen(asViewer)]).toEqual([false, true]);
  });

  test("what a token invited to ends when it is revoked", async () => {
    const minted = (await acme.owner.post("/tokens", { name: "leaked", role: "admin" })).body;
    const invited = await invite(newEmail(), "admin", new ApiCaller(world.app, minted.secret));
    expect((await acme.owner.delete(`/tokens/${minted.token.id}`)).status).toBe(204);
    expect(await isOpen(invited)).toBe(false);
  });

  test("another organisation's invitations are not there", async () => {
    const { invitation } = await invite(newEmail());
    expect((await other.owner.get(`/invitations/${invitation.id}`)).status).toBe(404);
    expect((await other.owner.delete(`/invitations/${invitation.id}`)).status).toBe(404);
    const listed = (await other.owner.get("/invitations?limit=200")).body.items;
    expect(JSON.stringify(listed)).not.toContain(invitation.id);
    expect(await statusOf({ invitation, secret: "" } as Invited)).toBe("open");
  });

  test("what ended 30 days ago is deleted", async () => {
    const old = await invite(newEmail());
    const recent = await invite(newEmail());
    await database.query(
      "update invitation set created_at = now() - interval '40 days', expires_at = now() - interval '31 days' where id = $1",
      [old.invitation.id],
    );
    expect((await cleanUp(world.replica.deps.db)).invitations).toBe(1);
    expect(await statusOf(recent)).toBe("open");
  });
});

describe("people of several organisations", () => {
  test("join the next one by the session that they have", async () => {
    const { email, session } = await joined("member");
    const invited = await invite(email, "viewer", other.owner);
    const { session: stranger } = await joined("member");
    expect(await stranger.post("/me/organisations", { secret: invited.secret })).toMatchObject({
      status: 409,
      body: { precondition: { name: "invitation_is_for_you" } },
    });
    expect((await acme.owner.post("/me/organisations", { secret: invited.secret })).status).toBe(409);
    const done = await session.post("/me/organisations", { secret: invited.secret });
    expect(done.body).toMatchObject({ organisation: { slug: "other" }, member: { role: "viewer" } });
    expect((await session.get("/me")).body.organisation.slug).toBe("acme");
  });

  test("switch to it, and the session before is over", async () => {
    const { email, session } = await joined("admin");
    await session.post("/me/organisations", { secret: (await invite(email, "viewer", other.owner)).secret });
    const before = (await session.get("/me")).body.token.expires_at;
    const switched = await session.post("/auth/switch-organisation", { organisation_id: other.id });
    expect(switched.body).toMatchObject({ organisation: { slug: "other" }, expires_at: before });
    const there = new ApiCaller(world.app, switched.body.token);
    expect((await there.get("/me")).body).toMatchObject({ role: "viewer", organisation: { id: other.id } });
    expect((await session.get("/me")).status).toBe(401);
    // A viewer there, whatever they are here.
    expect((await there.post("/invitations", { email: newEmail(), role: "viewer" })).status).toBe(403);
    const foreign = await world.addOrganisation(`foreign-${people}`);
    for (const organisation_id of [foreign.id, "org_nothing"])
      expect(await there.post("/auth/switch-organisation", { organisation_id })).toMatchObject({
        status: 422,
        body: { errors: [{ code: "not_found" }] },
      });
    expect((await acme.owner.post("/auth/switch-organisation", { organisation_id: acme.id })).body.code).toBe(
      "invalid_state",
    );
  });

  test("a token for one of them shows nothing of the others", async () => {
    const { email, session } = await joined("admin");
    await session.post("/me/organisations", { secret: (await invite(email, "viewer", other.owner)).secret });
    const { secret } = (await session.post("/tokens", { name: "narrow", role: "viewer" })).body;
    const { items } = (await new ApiCaller(world.app, secret).get("/me/organisations")).body;
    expect(items).toMatchObject([{ slug: "acme", role: "viewer", current: true }]);
    expect(items).toHaveLength(1);
  });

  test("a suspended organisation admits and removes no members", async () => {
    const closed = await world.addOrganisation(`closed-${people}`);
    const invited = await invite(newEmail(), "viewer", closed.owner);
    await world.operator.patch(`/organisations/${closed.id}`, { status: "suspended" });
    expect((await accept(invited.secret)).body.code).toBe("organisation_suspended");
  });
});

describe("the trail", () => {
  test("is filtered by actor, outcome and time, each organisation's own only", async () => {
    const { session } = await joined("admin");
    const me = (await session.get("/me")).body.user.id;
    await session.post("/tokens", { name: "seen" });
    await session.post("/tokens", { name: "" });
    const of = async (query: string, by = acme.owner) => (await by.get(`/audit?${query}`)).body.items;
    const mine = await of(`actor=${me}`);
    expect(mine.length).toBeGreaterThanOrEqual(3);
    for (const entry of mine) expect(entry.actor.id).toBe(me);
    expect((await of(`actor=${me}&outcome=refused`)).map((each: { action: string }) => each.action)).toEqual([
      "token.create",
    ]);
    expect(await of(`actor=${me}`, other.owner)).toEqual([]);
    const [newest] = mine;
    const at = encodeURIComponent(new Date(Date.parse(newest.at) + 1).toISOString());
    expect(await of(`actor=${me}&from=${at}`)).toEqual([]);
    expect(await of(`actor=${me}&to=${at}`)).toHaveLength(mine.length);
    expect((await acme.owner.get("/audit?from=yesterday")).status).toBe(422);
    expect((await acme.owner.get("/audit?outcome=odd")).status).toBe(422);
  });
});
