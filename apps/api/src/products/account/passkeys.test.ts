import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { SoftPasskey, type Twist } from "../../testing/soft-passkey.ts";

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

type Ada = { email: string; password: string; caller: ApiCaller };

async function addPerson(): Promise<Ada> {
  people += 1;
  const email = `person-${people}@example.org`;
  const { password } = await addMember(acme.owner, { email, name: `Person ${people}`, role: "viewer" });
  const login = await nobody().post("/auth/login", { email, password });
  return { email, password, caller: new ApiCaller(world.app, login.body.token as string) };
}

async function register({ caller }: Ada, passkey: SoftPasskey, name = "phone", twist: Twist = {}) {
  const { ceremony, options } = (await caller.post("/me/passkey-options", { purpose: "register" })).body;
  return caller.post("/me/passkeys", { ceremony, name, response: passkey.register(options, twist) });
}

async function signIn(passkey: SoftPasskey, twist: Twist = {}, more: { sign_in?: string } = {}) {
  const { ceremony, options } = (await nobody().post("/auth/passkey-options", more)).body;
  return nobody().post("/auth/passkey", { ceremony, response: passkey.use(options, twist), ...more });
}

describe("a passkey", () => {
  test("opens a session without an e-mail, for the person whose passkey it is", async () => {
    const ada = await addPerson();
    const [phone, laptop] = [new SoftPasskey(), new SoftPasskey()];
    const first = await register(ada, phone);
    expect([first.status, first.body.recovery_codes?.length]).toEqual([201, 10]);
    const second = await register(ada, laptop, "laptop");
    expect([second.status, second.body.recovery_codes]).toEqual([201, null]);
    for (const passkey of [phone, laptop]) {
      const opened = await signIn(passkey);
      expect(opened.status).toBe(200);
      expect(opened.body.user.email).toBe(ada.email);
      const sessions = await new ApiCaller(world.app, opened.body.token).get("/me/sessions");
      expect(sessions.body.items[0]).toMatchObject({ current: true, opened_by: "passkey" });
    }
    expect((await ada.caller.get("/me/security")).body.passkeys).toMatchObject([
      { name: "phone", last_used_at: expect.any(String) },
      { name: "laptop" },
    ]);
  });

  test("is a second factor after the password, and only its own person's", async () => {
    const [ada, eve] = [await addPerson(), await addPerson()];
    const [hers, evil] = [new SoftPasskey(), new SoftPasskey()];
    await register(ada, hers);
    await register(eve, evil);
    const begin = async () => {
      const answer = await nobody().post("/auth/login", { email: ada.email, password: ada.password });
      expect([answer.status, answer.body.methods]).toEqual([202, ["passkey", "recovery_code"]]);
      return { sign_in: answer.body.sign_in as string };
    };
    expect((await signIn(evil, {}, await begin())).status).toBe(401);
    const step = await begin();
    expect((await signIn(hers, {}, step)).status).toBe(200);
    expect((await nobody().post("/auth/passkey-options", step)).status).toBe(401);
  });

  test.each<[string, Twist]>([
    ["for another page", { origin: "https://panel.kule.example.evil.example" }],
    ["for another domain", { rpId: "evil.example" }],
    ["without the person", { userVerified: false }],
    ["of a copy, whose count is behind", { counter: 1 }],
  ])("does not open anything %s", async (_what, twist) => {
    const passkey = new SoftPasskey();
    expect((await register(await addPerson(), passkey)).status).toBe(201);
    expect((await signIn(passkey)).status).toBe(200);
    expect((await signIn(passkey, twist)).status).toBe(401);
    expect((await signIn(passkey)).status).toBe(200);
  });

  test("answers a challenge once, in time, and in the session that got it", async () => {
    const [ada, eve] = [await addPerson(), await addPerson()];
    const passkey = new SoftPasskey();
    await register(ada, passkey);
    const { ceremony, options } = (await nobody().post("/auth/passkey-options", {})).body;
    const answer = { ceremony, response: passkey.use(options) };
    const both = await Promise.all([1, 2].map(() => nobody().post("/auth/passkey", answer)));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect((await nobody().post("/auth/passkey", answer)).status).toBe(401);
    const other = (await nobody().post("/auth/passkey-options", {})).body;
    const mixed = { ceremony: other.ceremony, response: passkey.use(options) };
    expect((await nobody().post("/auth/passkey", mixed)).status).toBe(401);
    // A challenge to register that was issued to another person.
    const begun = (await eve.caller.post("/me/passkey-options", { purpose: "register" })).body;
    const foreign = {
      ceremony: begun.ceremony,
      name: "x",
      response: new SoftPasskey().register(begun.options),
    };
    expect((await ada.caller.post("/me/passkeys", foreign)).status).toBe(422);
    expect((await eve.caller.post("/me/passkeys", foreign)).status).toBe(201);
    expect((await eve.caller.post("/me/passkeys", foreign)).status).toBe(422);
  });

  test("answers a challenge once, also where it does not count its uses", async () => {
    const passkey = new SoftPasskey();
    expect((await register(await addPerson(), passkey, "synced", { counter: 0 })).status).toBe(201);
    const { ceremony, options } = (await nobody().post("/auth/passkey-options", {})).body;
    const answer = { ceremony, response: passkey.use(options, { counter: 0 }) };
    expect((await nobody().post("/auth/passkey", answer)).status).toBe(200);
    // Nor does the same challenge count as another one when its text is written otherwise.
    for (const again of [ceremony, `${ceremony}=`, `${ceremony}.`, `${ceremony}.x`, ` ${ceremony}`])
      expect((await nobody().post("/auth/passkey", { ...answer, ceremony: again })).status, again).toBe(401);
  });

  test("answers the same for an unknown passkey as for a removed one", async () => {
    const ada = await addPerson();
    const passkey = new SoftPasskey();
    const { id } = (await register(ada, passkey)).body.passkey;
    expect((await ada.caller.patch(`/me/passkeys/${id}`, { name: "old phone" })).body.name).toBe("old phone");
    expect((await (await addPerson()).caller.delete(`/me/passkeys/${id}`)).status).toBe(404);
    expect((await ada.caller.delete(`/me/passkeys/${id}`)).status).toBe(204);
    const [removed, unknown] = [await signIn(passkey), await signIn(new SoftPasskey())];
    expect([removed.status, unknown.status]).toEqual([401, 401]);
    expect({ ...removed.body, request_id: "" }).toEqual({ ...unknown.body, request_id: "" });
    expect((await nobody().post("/auth/login", { email: ada.email, password: ada.password })).status).toBe(
      200,
    );
  });

  test("is added and removed after a fresh proof, which another one is", async () => {
    const ada = await addPerson();
    const passkey = new SoftPasskey();
    const { id } = (await register(ada, passkey)).body.passkey;
    await database.query("update token set proven_at = now() - interval '11 minutes'");
    expect((await ada.caller.post("/me/passkey-options", { purpose: "register" })).body.code).toBe(
      "proof_required",
    );
    expect((await ada.caller.delete(`/me/passkeys/${id}`)).body.code).toBe("proof_required");
    expect((await ada.caller.post("/me/proof", { password: ada.password })).status).toBe(422);
    const { ceremony, options } = (await ada.caller.post("/me/passkey-options", { purpose: "prove" })).body;
    const proof = { passkey: { ceremony, response: passkey.use(options) } };
    expect((await ada.caller.post("/me/proof", proof)).status).toBe(204);
    expect((await ada.caller.post("/me/proof", proof)).status).toBe(422);
    expect((await ada.caller.delete(`/me/passkeys/${id}`)).status).toBe(204);
  });

  test("needs a panel with a domain", async () => {
    const bare = await world.addReplica({ consoleOrigins: ["http://127.0.0.1:3000"] });
    const answer = await nobody().at(bare.app).post("/auth/passkey-options", {});
    expect([answer.status, answer.body.code]).toEqual([409, "not_configured"]);
  });
});
