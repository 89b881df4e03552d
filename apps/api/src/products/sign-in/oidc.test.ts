import type { OidcProvider } from "@kule/region-config/oidc-file";
import { Secret } from "@kule/region-config/secret";
import { RealProvider, signInAtProvider } from "@kule/testing/oidc/real-provider";
import { type OidcTwist, type SoftPerson, SoftProvider } from "@kule/testing/oidc/soft-provider";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../../app.ts";
import { createLog } from "../../platform/log.ts";
import { addMember } from "../../testing/add-member.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation, testPanelOrigin } from "../../testing/api-world.ts";
import { Authenticator } from "../../testing/authenticator.ts";
import { answerOf, newSoftPerson, ownAnswer, providerEntry } from "../../testing/soft-sign-ins.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let database: Client;
let soft: SoftProvider;
let other: SoftProvider;
let real: RealProvider;
let people = 0;

const providers: OidcProvider[] = [];

beforeAll(async () => {
  soft = await SoftProvider.start();
  other = await SoftProvider.start();
  real = await RealProvider.start(`${testPanelOrigin}/sign-in/with/real/callback`);
  providers.push(
    providerEntry(soft),
    providerEntry(soft, {
      id: "staff",
      label: "Staff ID",
      emailDomains: ["soft.example"],
      signUp: { organisation: "acme", role: "viewer" },
    }),
    providerEntry(soft, { id: "strong", label: "Strong ID", secondFactor: { acr: [], amr: ["mfa"] } }),
    providerEntry(other, { id: "other", label: "Other ID" }),
    providerEntry(real, {
      id: "real",
      label: "Real ID",
      clientId: real.clientId,
      clientSecret: new Secret(real.clientSecret, "a test"),
    }),
  );
  world = await ApiWorld.open({ oidcProviders: providers });
  acme = await world.addOrganisation("acme");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
}, 60_000);
afterAll(async () => {
  await database.end();
  await world.close();
  await Promise.all([soft.stop(), other.stop(), real.stop()]);
});
afterEach(async () => {
  vi.useRealTimers();
  // Each test begins with a clean sheet of failed attempts.
  await database.query("delete from login_failure");
});

const nobody = () => new ApiCaller(world.app, null);
const begin = (provider = "soft", more: object = {}) => ({
  path: "/auth/oidc/authorization",
  body: { provider, ...more },
});

/** A person with a password, signed in. */
async function addPerson() {
  people += 1;
  const email = `person-${people}@example.org`;
  const added = await addMember(acme.owner, { email, name: "Ada Person", role: "viewer" });
  const { password } = added;
  const login = await nobody().post("/auth/login", { email, password });
  const caller = new ApiCaller(world.app, login.body.token as string);
  return {
    email,
    password,
    memberId: added.member.id,
    userId: added.member.user.id,
    caller,
  };
}

/** The same, with an account at the soft provider that is linked. */
async function addLinked() {
  const ada = await addPerson();
  const person = newSoftPerson();
  const linked = await ada.caller.post("/me/identities", await ownAnswer(ada.caller, soft, person, "link"));
  expect(linked.status, JSON.stringify(linked.body)).toBe(201);
  return { ...ada, person, identityId: linked.body.id as string };
}

async function signIn(person: SoftPerson, twist: OidcTwist = {}, provider = "soft") {
  return nobody().post("/auth/oidc", await answerOf(nobody(), soft, person, begin(provider), twist));
}

const trailOf = async (requestId: string) =>
  (await database.query("select * from audit where request_id = $1 order by id", [requestId])).rows;
const count = async (table: string) =>
  Number((await database.query(`select count(*)::int as n from ${table}`)).rows[0].n);
const outdateProofs = () => database.query("update token set proven_at = now() - interval '11 minutes'");

async function invite(email: string) {
  const invited = await acme.owner.post("/invitations", { email, role: "member" });
  expect(invited.status).toBe(201);
  return invited.body.secret as string;
}

test("the providers of the installation are listed by name, and nothing else of them", async () => {
  const listed = await nobody().get("/auth/oidc/providers");
  expect(listed.body.items).toContainEqual({ id: "soft", label: "Soft ID" });
  expect(JSON.stringify(listed.body)).not.toContain(soft.issuer);
});

describe("the real provider", () => {
  test("signs in by code, PKCE, state and nonce, also after it has changed its keys", async () => {
    const ada = await addPerson();
    real.addAccount("ada", { email: ada.email, email_verified: true, name: "Ada" });
    const linking = await ada.caller.post("/me/identities/authorization", {
      provider: "real",
      purpose: "link",
    });
    const url = new URL(linking.body.authorization_url);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: `${testPanelOrigin}/sign-in/with/real/callback`,
    });
    const back = await signInAtProvider(linking.body.authorization_url, "ada");
    expect(new URLSearchParams(back).get("iss")).toBe(real.issuer);
    const linked = await ada.caller.post("/me/identities", { flow: linking.body.flow, response: back });
    expect(linked.body).toMatchObject({
      provider: { id: "real", label: "Real ID" },
      email: ada.email,
      last_used_at: null,
    });

    const enter = async () => {
      const begun = await nobody().post("/auth/oidc/authorization", { provider: "real" });
      const response = await signInAtProvider(begun.body.authorization_url, "ada");
      return nobody().post("/auth/oidc", { flow: begun.body.flow, response });
    };
    const opened = await enter();
    expect(opened.status, JSON.stringify(opened.body)).toBe(200);
    const here = new ApiCaller(world.app, opened.body.token);
    expect((await here.get("/me/sessions")).body.items[0]).toMatchObject({
      current: true,
      opened_by: "oidc",
      provider: "Real ID",
    });
    await real.rotateKeys();
    // The keys are fetched again when one is unknown, but not more than once in a minute.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect((await enter()).status).toBe(200);
  }, 60_000);

  test("authenticates the person again for a proof, and only then it is one", async () => {
    const ada = await addPerson();
    const login = `prover-${people}`;
    real.addAccount(login, { email: ada.email, email_verified: true, name: "Ada" });
    const go = async (purpose: string) => {
      const begun = await ada.caller.post("/me/identities/authorization", { provider: "real", purpose });
      expect(begun.status, JSON.stringify(begun.body)).toBe(200);
      const response = await signInAtProvider(begun.body.authorization_url, login);
      return { flow: begun.body.flow, response };
    };
    expect((await ada.caller.post("/me/identities", await go("link"))).status).toBe(201);
    await outdateProofs();
    const asked = await ada.caller.post("/me/identities/authorization", {
      provider: "real",
      purpose: "link",
    });
    expect(asked.body.code).toBe("proof_required");
    const proven = await ada.caller.post("/me/proof", { oidc: await go("prove") });
    expect(proven.status, JSON.stringify(proven.body)).toBe(204);
    expect((await ada.caller.get("/me/security")).body.proven_until).not.toBeNull();
  }, 60_000);

  test("that refuses is shown with our own text, without what it wrote", async () => {
    const begun = await nobody().post("/auth/oidc/authorization", { provider: "real" });
    const state = new URL(begun.body.authorization_url).searchParams.get("state") ?? "";
    const response = new URLSearchParams({
      error: "access_denied",
      error_description: "call 0900 now",
      state,
      iss: real.issuer,
    });
    const answer = await nobody().post("/auth/oidc", {
      flow: begun.body.flow,
      response: response.toString(),
    });
    expect([answer.status, answer.body.code, answer.body.precondition.name]).toEqual([
      409,
      "sign_in_refused",
      "provider_agreed",
    ]);
    expect(answer.body.detail).toContain("access_denied");
    expect(JSON.stringify(answer.body)).not.toContain("0900");
  });
});

describe("an invalid answer opens nothing", () => {
  const now = () => Math.floor(Date.now() / 1000);
  test.each<[string, () => OidcTwist]>([
    ["another nonce", () => ({ claims: { nonce: "of-another-sign-in" } })],
    ["no nonce", () => ({ claims: { nonce: undefined } })],
    ["an ID token of another issuer", () => ({ claims: { iss: other.issuer } })],
    ["an ID token for another client", () => ({ claims: { aud: "another-client" } })],
    [
      "an ID token for several clients that names another one",
      () => ({ claims: { aud: ["kule-tests", "x"], azp: "x" } }),
    ],
    ["an ID token that has expired", () => ({ claims: { iat: now() - 900, exp: now() - 300 } })],
    ["an ID token without a signature", () => ({ unsigned: true })],
    ["an ID token signed with a key that is not the provider's", () => ({ foreignKey: true })],
    ["an ID token signed with the client's secret", () => ({ symmetric: true })],
    ["an answer in the name of another provider", () => ({ query: { iss: other.issuer } })],
    ["an answer without the issuer that it promises", () => ({ query: { iss: null } })],
    ["a state of another sign-in", () => ({ query: { state: "of-another-browser" } })],
    ["no state", () => ({ query: { state: null } })],
    ["a made-up code", () => ({ query: { code: "made-up" } })],
    ["a subject that cannot be one", () => ({ claims: { sub: "x".repeat(300) } })],
  ])("%s", async (_what, twist) => {
    const { person } = await addLinked();
    const before = await count("token");
    const refused = await signIn(person, twist());
    expect([refused.status, refused.body.code], JSON.stringify(refused.body)).toEqual([401, "unauthorized"]);
    expect(await count("token")).toBe(before);
    expect((await signIn(person)).status).toBe(200);
  });
});

describe("a flow", () => {
  test("belongs to the browser that began it: an answer in another one opens nothing", async () => {
    const { person } = await addLinked();
    const mallory = newSoftPerson();
    const hers = await answerOf(nobody(), soft, person);
    const his = await answerOf(nobody(), soft, mallory);
    for (const swapped of [
      { flow: hers.flow, response: his.response },
      { flow: his.flow, response: hers.response },
    ])
      expect((await nobody().post("/auth/oidc", swapped)).status).toBe(401);
    // Nor has it cost the person anything.
    expect((await nobody().post("/auth/oidc", hers)).status).toBe(200);
  });

  test("of another provider is not accepted with a code of this one", async () => {
    const { person } = await addLinked();
    const elsewhere = await nobody().post("/auth/oidc/authorization", { provider: "other" });
    const state = new URL(elsewhere.body.authorization_url).searchParams.get("state") ?? "";
    const answer = await answerOf(nobody(), soft, person, begin(), { query: { state } });
    const before = other.codesTaken;
    const mixed = await nobody().post("/auth/oidc", { flow: elsewhere.body.flow, response: answer.response });
    expect(mixed.status).toBe(401);
    expect(other.codesTaken).toBe(before);
  });

  test("is valid once, also for concurrent uses, and in any spelling", async () => {
    const { person } = await addLinked();
    const answer = await answerOf(nobody(), soft, person);
    const codes = soft.codesTaken;
    const variants = [
      answer.flow,
      answer.flow,
      answer.flow,
      `${answer.flow}=`,
      `${answer.flow}.x`,
      ` ${answer.flow}`,
    ];
    const answers = await Promise.all(
      variants.map((flow) => nobody().post("/auth/oidc", { flow, response: answer.response })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401, 401]);
    expect(soft.codesTaken).toBe(codes + 1);
    expect((await nobody().post("/auth/oidc", answer)).status).toBe(401);
    expect(soft.codesTaken).toBe(codes + 1);
  });

  test("lasts for ten minutes", async () => {
    const { person } = await addLinked();
    const { deps } = world.replica;
    const { createVault } = await import("../../platform/at-rest.ts");
    const vault = createVault(deps.settings.secrets);
    const aged = async (minutes: number) => {
      const { flow, response } = await answerOf(nobody(), soft, person);
      const opened = JSON.parse(vault?.open("challenge oidc login", flow) ?? "{}");
      opened.issuedMs -= minutes * 60_000;
      return { flow: vault?.seal("challenge oidc login", JSON.stringify(opened)), response };
    };
    expect((await nobody().post("/auth/oidc", await aged(10.1))).status).toBe(401);
    expect((await nobody().post("/auth/oidc", await aged(9.5))).status).toBe(200);
  });

  test("to link is useless for another session, and for a sign-in", async () => {
    const ada = await addPerson();
    const eve = await addPerson();
    const answer = await ownAnswer(ada.caller, soft, newSoftPerson(), "link");
    expect((await eve.caller.post("/me/identities", answer)).status).toBe(422);
    expect((await nobody().post("/auth/oidc", answer)).status).toBe(401);
    expect((await eve.caller.post("/me/proof", { oidc: answer })).status).toBe(422);
    const login = await answerOf(nobody(), soft, newSoftPerson());
    expect((await ada.caller.post("/me/identities", login)).status).toBe(422);
    expect((await ada.caller.post("/me/identities", answer)).status).toBe(201);
  });

  test("that is invalid counts as a failed login of the address", async () => {
    const { person } = await addLinked();
    const at = { "X-Forwarded-For": "203.0.113.9" };
    const behind = await world.addReplica({ oidcProviders: providers, trustedProxies: 1 });
    const caller = new ApiCaller(behind.app, null, at);
    const statuses: number[] = [];
    for (let time = 0; time < 11; time += 1) {
      const answer = await answerOf(caller, soft, person, begin(), { query: { code: "guess" } });
      statuses.push((await caller.post("/auth/oidc", answer)).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });
});

describe("a person", () => {
  test("is known by issuer and subject, whatever the e-mail is", async () => {
    const { person, userId } = await addLinked();
    const renamed = await signIn({ ...person, email: "new-name@elsewhere.example", email_verified: false });
    expect([renamed.status, renamed.body.user.id]).toEqual([200, userId]);
    // The same subject of another issuer is another person.
    const answer = await answerOf(nobody(), other, person, begin("other"));
    const foreign = await nobody().post("/auth/oidc", answer);
    expect([foreign.status, foreign.body.precondition?.name]).toEqual([409, "invited"]);
  });

  test("with an account of the same e-mail is not signed in to it", async () => {
    const ada = await addPerson();
    const before = await count("user_identity");
    for (const provider of ["soft", "other"]) {
      const person = { ...newSoftPerson(), email: ada.email.toUpperCase() };
      const by = provider === "soft" ? soft : other;
      const refused = await nobody().post(
        "/auth/oidc",
        await answerOf(nobody(), by, person, begin(provider)),
      );
      expect([refused.status, refused.body.precondition.name]).toEqual([409, "not_yet_an_account"]);
    }
    const secret = await invite(`someone-${people}@example.org`);
    const withInvitation = await nobody().post(
      "/auth/oidc",
      await answerOf(
        nobody(),
        soft,
        { ...newSoftPerson(), email: ada.email },
        begin("soft", { invitation: secret }),
      ),
    );
    expect(withInvitation.body.precondition.name).toBe("not_yet_an_account");
    expect(await count("user_identity")).toBe(before);
  });

  test("a new person needs an invitation to the e-mail that the provider has verified", async () => {
    const person = newSoftPerson();
    expect((await signIn(person)).body.precondition.name).toBe("invited");
    const secret = await invite(person.email ?? "");
    const go = (who: SoftPerson, invitation = secret) =>
      answerOf(nobody(), soft, who, begin("soft", { invitation })).then((answer) =>
        nobody().post("/auth/oidc", answer, { "X-Request-Id": `joining-${who.sub}` }),
      );
    for (const unverified of [false, "true", 1, undefined]) {
      const refused = await go({ ...person, email_verified: unverified });
      expect([refused.status, refused.body.precondition.name]).toEqual([409, "email_verified"]);
    }
    expect((await go({ ...newSoftPerson() })).body.precondition.name).toBe("invited");
    expect((await go(person, "kule_inv_made-up")).body.precondition.name).toBe("invited");
    const joined = await go(person);
    expect(joined.status, JSON.stringify(joined.body)).toBe(200);
    expect(joined.body).toMatchObject({
      user: { email: person.email, name: person.name },
      organisation: { slug: "acme" },
    });
    const trail = (await trailOf(`joining-${person.sub}`)).filter(({ outcome }) => outcome === "succeeded");
    expect(trail.map(({ action }) => action)).toEqual(["member.join", "session.open"]);
    expect(trail[1]).toMatchObject({
      actor_name: person.name,
      details: { opened_by: "oidc", provider: "soft", new_user: true },
    });
    // It was used up, and the next sign-in needs none.
    expect((await signIn(person)).status).toBe(200);
    const again = await go({ ...newSoftPerson(), email: person.email ?? "" });
    expect(again.body.precondition.name).toBe("not_yet_an_account");
  });

  test("of an allowed domain may sign up where the operators allow it, and of no other", async () => {
    const go = (who: SoftPerson) =>
      answerOf(nobody(), soft, who, begin("staff")).then((answer) => nobody().post("/auth/oidc", answer));
    const person = newSoftPerson();
    const outside = { ...newSoftPerson(), email: "eve@evil.example" };
    expect((await go(outside)).body.precondition.name).toBe("email_domain_allowed");
    expect((await go({ ...person, email_verified: false })).body.precondition.name).toBe("email_verified");
    const answers = await Promise.all([go(person), go(person), go(person)]);
    expect(answers.map(({ status }) => status)).toContain(200);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    const { rows } = await database.query(
      `select m.role, u.password_hash from app_user u join member m on m.user_id = u.id where u.email = $1`,
      [person.email],
    );
    expect(rows).toEqual([{ role: "viewer", password_hash: null }]);
    // A known person whose domain has changed: the limit applies to every sign-in.
    const moved = await go({ ...person, email: "moved@evil.example" });
    expect(moved.body.precondition.name).toBe("email_domain_allowed");
  });

  test("of an allowed domain is refused while the organisation has no place left, without its figures", async () => {
    const go = (who: SoftPerson) =>
      answerOf(nobody(), soft, who, begin("staff")).then((answer) => nobody().post("/auth/oidc", answer));
    const limit = async (members: number | null) =>
      expect(
        (await world.operator.put(`/organisations/${acme.id}/quotas`, { limits: { members } })).status,
      ).toBe(200);
    const person = newSoftPerson();
    await limit(0);
    try {
      const refused = await go(person);
      expect([refused.status, refused.body.code]).toEqual([409, "sign_in_refused"]);
      expect(refused.body.precondition.name).toBe("organisation_has_room");
      expect(JSON.stringify(refused.body)).not.toMatch(/quota|"used"|"limit":/);
      const { rows } = await database.query("select 1 from app_user where email = $1", [person.email]);
      expect(rows).toEqual([]);
    } finally {
      await limit(null);
    }
    expect((await go(person)).status).toBe(200);
  });

  test("a person without an organisation has no session", async () => {
    const { person, memberId } = await addLinked();
    await acme.owner.delete(`/members/${memberId}`);
    expect((await signIn(person)).body.precondition.name).toBe("invited");
  });
});

describe("a second factor", () => {
  async function withApp() {
    const ada = await addLinked();
    const app = new Authenticator((await ada.caller.post("/me/totp")).body.secret);
    const { body } = await ada.caller.post("/me/totp/confirm", { code: app.next() });
    return { ...ada, app, codes: body.recovery_codes as string[] };
  }

  test("of Kule is needed after the provider, too", async () => {
    const { person, app, codes } = await withApp();
    const half = await signIn(person);
    expect([half.status, half.body.token]).toEqual([202, undefined]);
    expect(half.body.methods).toContain("totp");
    expect((await new ApiCaller(world.app, half.body.sign_in).get("/me")).status).toBe(401);
    const finish = (sign_in: string, factor: object) =>
      nobody().post("/auth/second-factor", { sign_in, ...factor });
    const opened = await finish(half.body.sign_in, { code: app.next() });
    expect(opened.status).toBe(200);
    const sessions = await new ApiCaller(world.app, opened.body.token).get("/me/sessions");
    expect(sessions.body.items[0]).toMatchObject({ opened_by: "oidc_and_totp", provider: "Soft ID" });
    const second = await finish((await signIn(person)).body.sign_in, { recovery_code: codes[0] });
    expect(
      (await new ApiCaller(world.app, second.body.token).get("/me/sessions")).body.items[0].opened_by,
    ).toBe("oidc_and_recovery_code");
    // A provider's claim that it has used a second factor counts only where the operators trust it.
    expect((await signIn(person, { claims: { amr: ["mfa"], acr: "mfa" } })).status).toBe(202);
  });

  test("of a trusted provider is enough, when it claims a second factor", async () => {
    const { person } = await withApp();
    expect((await signIn(person, { claims: { amr: ["pwd", "mfa"] } }, "strong")).status).toBe(200);
    expect((await signIn(person, { claims: { amr: ["pwd"] } }, "strong")).status).toBe(202);
    expect((await signIn(person, {}, "strong")).status).toBe(202);
  });

  test("makes the provider alone no proof", async () => {
    const { caller, person } = await withApp();
    await outdateProofs();
    const proof = (await caller.post("/me/proof", { oidc: await ownAnswer(caller, soft, person, "prove") }))
      .status;
    expect(proof).toBe(422);
  });

  test("that is pending is invalid when the provider is unlinked", async () => {
    const { person, caller, identityId, app } = await withApp();
    const half = await signIn(person);
    expect((await caller.delete(`/me/identities/${identityId}`)).status).toBe(204);
    expect(
      (await nobody().post("/auth/second-factor", { sign_in: half.body.sign_in, code: app.next() })).status,
    ).toBe(401);
  });
});

describe("a proof by a provider", () => {
  test.each<[string, OidcTwist, number]>([
    ["is one when the person was asked after it began", {}, 204],
    ["is none when the provider only remembers them", { claims: { auth_time: 1_700_000_000 } }, 422],
    ["is none when the provider does not say", { claims: { auth_time: undefined } }, 422],
  ])("%s", async (_what, twist, status) => {
    const { caller, person } = await addLinked();
    await outdateProofs();
    const asked = await caller.post("/me/proof", {
      oidc: await ownAnswer(caller, soft, person, "prove", twist),
    });
    expect(asked.status, JSON.stringify(asked.body)).toBe(status);
  });

  test("is not of another person's account", async () => {
    const { caller } = await addLinked();
    const eve = await addLinked();
    const answer = await ownAnswer(caller, soft, eve.person, "prove");
    expect((await caller.post("/me/proof", { oidc: answer })).status).toBe(422);
  });

  test("is not given by a sign-in at a provider that authenticated long ago", async () => {
    const { person } = await addLinked();
    const old = await signIn(person, { claims: { auth_time: Math.floor(Date.now() / 1000) - 3600 } });
    const silent = await signIn(person, { claims: { auth_time: undefined } });
    const fresh = await signIn(person);
    const until = async (token: string) =>
      (await new ApiCaller(world.app, token).get("/me/security")).body.proven_until;
    expect(await until(old.body.token)).toBeNull();
    expect(await until(silent.body.token)).toBeNull();
    expect(await until(fresh.body.token)).not.toBeNull();
  });
});

describe("linking", () => {
  test("requires a recent proof, to begin and to end", async () => {
    const ada = await addPerson();
    const answer = await ownAnswer(ada.caller, soft, newSoftPerson(), "link");
    await outdateProofs();
    expect((await ada.caller.post("/me/identities", answer)).body.code).toBe("proof_required");
    const begun = await ada.caller.post("/me/identities/authorization", {
      provider: "soft",
      purpose: "link",
    });
    expect(begun.body.code).toBe("proof_required");
    // The flow is still good once it is proven.
    await ada.caller.post("/me/proof", { password: ada.password });
    expect((await ada.caller.post("/me/identities", answer)).status).toBe(201);
  });

  test("does not link an account that is linked already", async () => {
    const { person, userId } = await addLinked();
    const eve = await addPerson();
    const taken = await eve.caller.post("/me/identities", await ownAnswer(eve.caller, soft, person, "link"));
    expect([taken.status, taken.body.precondition.name]).toEqual([409, "identity_is_free"]);
    expect((await signIn(person)).body.user.id).toBe(userId);
  });

  test("is undone with a fresh proof, and what it has opened ends", async () => {
    const { caller, person, identityId } = await addLinked();
    const opened = await signIn(person);
    const elsewhere = new ApiCaller(world.app, opened.body.token);
    expect((await elsewhere.get("/me")).status).toBe(200);
    await outdateProofs();
    expect((await caller.delete(`/me/identities/${identityId}`)).body.code).toBe("proof_required");
    await database.query("update token set proven_at = now()");
    expect((await caller.delete(`/me/identities/${identityId}`)).status).toBe(204);
    expect((await elsewhere.get("/me")).status).toBe(401);
    expect((await caller.get("/me")).status).toBe(200);
    expect((await signIn(person)).body.precondition.name).toBe("invited");
    expect((await caller.delete(`/me/identities/${identityId}`)).status).toBe(404);
  });

  test("cannot be unlinked when it is the last sign-in method, until there is a password", async () => {
    const person = newSoftPerson();
    const answer = await answerOf(nobody(), soft, person, begin("staff"));
    const caller = new ApiCaller(world.app, (await nobody().post("/auth/oidc", answer)).body.token);
    const { body } = await caller.get("/me/security");
    expect(body).toMatchObject({ has_password: false, password_changed_at: null });
    const [identity] = body.identities;
    const refused = await caller.delete(`/me/identities/${identity.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "last_way_in"]);

    await outdateProofs();
    const wanted = { new_password: "seven brave otters swim" };
    expect((await caller.put("/me/password", wanted)).body.code).toBe("proof_required");
    expect((await caller.put("/me/password", { ...wanted, current_password: "" })).status).toBe(422);
    const proof = await ownAnswer(caller, soft, person, "prove");
    expect((await caller.post("/me/proof", { oidc: proof })).status).toBe(204);
    expect((await caller.put("/me/password", wanted)).status).toBe(204);
    // From now on the current password is required.
    const again = await caller.put("/me/password", { new_password: "eight brave otters swim" });
    expect([again.status, again.body.errors[0].field]).toEqual([422, "current_password"]);
    const login = await nobody().post("/auth/login", { email: person.email, password: wanted.new_password });
    expect(login.status).toBe(200);
    expect((await caller.delete(`/me/identities/${identity.id}`)).status).toBe(204);
  });

  test("of the last two sign-in methods only one can be unlinked", async () => {
    const person = newSoftPerson();
    const first = await nobody().post("/auth/oidc", await answerOf(nobody(), soft, person, begin("staff")));
    const caller = new ApiCaller(world.app, first.body.token);
    const second = { ...newSoftPerson() };
    expect((await caller.post("/me/identities", await ownAnswer(caller, soft, second, "link"))).status).toBe(
      201,
    );
    const { identities } = (await caller.get("/me/security")).body;
    const answers = await Promise.all(
      identities.map(({ id }: { id: string }) => caller.delete(`/me/identities/${id}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
  });
});

describe("a provider that does not answer", () => {
  test("is named, and the password still opens sessions", async () => {
    const ada = await addLinked();
    const flow = await answerOf(nobody(), soft, ada.person);
    soft.setDown(true);
    try {
      const answer = await nobody().post("/auth/oidc", flow);
      expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
      expect(answer.body.detail).toContain("Soft ID does not answer");
      const { email, password, identityId } = ada;
      expect((await nobody().post("/auth/login", { email, password, identityId })).status).toBe(422);
      expect((await nobody().post("/auth/login", { email, password })).status).toBe(200);
      const fresh = await world.addReplica({ oidcProviders: [providerEntry(soft)] });
      const begun = await new ApiCaller(fresh.app, null).post("/auth/oidc/authorization", {
        provider: "soft",
      });
      expect(begun.status).toBe(503);
      soft.setDown(false);
      // The failure is not cached.
      const next = await new ApiCaller(fresh.app, null).post("/auth/oidc/authorization", {
        provider: "soft",
      });
      expect(next.status).toBe(200);
    } finally {
      soft.setDown(false);
    }
  });

  test.each([
    [500, "server_error", 503],
    [401, "invalid_client", 503],
    [400, "invalid_grant", 401],
  ])("or answers %i %s to the code, is answered %i", async (status, error, expected) => {
    const { person } = await addLinked();
    expect((await signIn(person, { tokenError: { status, error } })).status).toBe(expected);
  });

  test("or calls itself by another issuer is never believed", async () => {
    const posing = providerEntry({ issuer: `${soft.issuer}/tenant` });
    const replica = await world.addReplica({ oidcProviders: [posing] });
    const begun = await new ApiCaller(replica.app, null).post("/auth/oidc/authorization", {
      provider: "soft",
    });
    expect(begun.status).not.toBe(200);
  });
});

test("a removed provider opens no session and is no sign-in method", async () => {
  const { caller, person, identityId } = await addLinked();
  const without = await world.addReplica({ oidcProviders: [] });
  const there = caller.at(without.app);
  expect((await there.get("/me/security")).body.identities).toMatchObject([
    { id: identityId, provider: null },
  ]);
  const flow = await answerOf(nobody(), soft, person);
  expect((await nobody().at(without.app).post("/auth/oidc", flow)).status).toBe(401);
  const begun = await nobody().at(without.app).post("/auth/oidc/authorization", { provider: "soft" });
  expect([begun.status, begun.body.errors[0].field]).toEqual([422, "provider"]);
});

test("codes, tokens, verifiers, flows and the client's secret are stored nowhere", async () => {
  const lines: string[] = [];
  const log = createLog("trace", { write: (line) => void lines.push(line) });
  const caller = new ApiCaller(createApp({ ...world.replica.deps, log }), null);
  const answers: string[] = [];
  const person = newSoftPerson();
  const secret = await invite(person.email ?? "");
  for (const twist of [
    {},
    { foreignKey: true },
    { claims: { nonce: "x" } },
    { tokenError: { status: 401, error: "invalid_client" } },
    { query: { iss: "x" } },
  ] as OidcTwist[]) {
    const answer = await answerOf(caller, soft, person, begin("soft", { invitation: secret }), twist);
    soft.secrets.push(answer.flow, secret);
    const opened = await caller.post("/auth/oidc", answer);
    if (opened.status !== 200) answers.push(JSON.stringify(opened.body));
  }
  const tables = [
    "audit",
    "user_identity",
    "app_user",
    "token",
    "sign_in",
    "idempotency_key",
    "login_failure",
  ];
  const rows = await Promise.all(
    tables.map(async (table) =>
      JSON.stringify((await database.query(`select t::text from ${table} t`)).rows),
    ),
  );
  const everything = [...lines, ...answers, ...rows].join("\n");
  expect(lines.filter((line) => line.includes("is invalid"))).toHaveLength(3);
  for (const secret of soft.secrets.filter((each) => each !== ""))
    expect(everything.includes(secret), secret).toBe(false);
});

describe("a lost second factor", () => {
  async function operator() {
    const person = await addPerson();
    await database.query("update app_user set is_operator = true where id = $1", [person.userId]);
    return person.caller.with({ "Kule-Organisation": acme.id });
  }
  async function enrolled() {
    const ada = await addPerson();
    const app = new Authenticator((await ada.caller.post("/me/totp")).body.secret);
    await ada.caller.post("/me/totp/confirm", { code: app.next() });
    return ada;
  }

  test("is reset by an operator, all sessions end, and the person sees it", async () => {
    const ada = await enrolled();
    const { email, password, memberId, caller } = ada;
    const half = await nobody().post("/auth/login", { email, password });
    expect(half.status).toBe(202);
    const asked = { "X-Request-Id": `reset-${people}` };
    const done = await (await operator()).delete(`/members/${memberId}/second-factor`, asked);
    expect(done.status, JSON.stringify(done.body)).toBe(204);
    expect((await caller.get("/me")).status).toBe(401);
    const opened = await nobody().post("/auth/login", { email, password });
    expect(opened.status).toBe(200);
    const here = new ApiCaller(world.app, opened.body.token);
    const { body } = await here.get("/me/security");
    expect(body).toMatchObject({
      totp: null,
      recovery_codes_left: 0,
      second_factor_reset_at: expect.any(String),
    });
    expect(await trailOf(asked["X-Request-Id"])).toMatchObject([
      {
        action: "member.reset_second_factor",
        organisation_id: acme.id,
        actor_type: "operator",
        resource: memberId,
        details: { authenticator_app: true, on_behalf: true },
      },
    ]);
    const app = new Authenticator((await here.post("/me/totp")).body.secret);
    await here.post("/me/totp/confirm", { code: app.next() });
    expect((await here.get("/me/security")).body.second_factor_reset_at).toBeNull();
  });

  test("cannot be reset by an owner, a token, or an operator without a proof", async () => {
    const { memberId, caller } = await enrolled();
    const path = `/members/${memberId}/second-factor`;
    expect((await acme.owner.delete(path)).status).toBe(403);
    expect((await world.operator.with({ "Kule-Organisation": acme.id }).delete(path)).body.code).toBe(
      "invalid_state",
    );
    const session = await operator();
    await outdateProofs();
    expect((await session.delete(path)).body.code).toBe("proof_required");
    expect((await caller.get("/me/security")).body.totp).not.toBeNull();
    await database.query("update token set proven_at = now()");
    expect((await session.delete(path)).status).toBe(204);
    expect((await session.delete(path)).body.code).toBe("not_enrolled");
  });

  test("cannot be restored by a session that the reset has ended", async () => {
    const { memberId, caller } = await enrolled();
    const session = await operator();
    const begin = { provider: "soft", purpose: "link" };
    const flow = await caller.post("/me/identities/authorization", begin);
    const response = soft.answer(flow.body.authorization_url, newSoftPerson());
    const body = { flow: flow.body.flow, response };
    const [reset, linked] = await Promise.all([
      session.delete(`/members/${memberId}/second-factor`),
      caller.post("/me/identities", body),
    ]);
    expect(reset.status).toBe(204);
    // Before it, or not at all.
    expect([201, 401, 409]).toContain(linked.status);
  });
});
