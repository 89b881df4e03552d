import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { formTokenField, mintFormToken } from "../../csrf.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { tokenIn, Visitor } from "../../testing/visitor.ts";

// One world for all tests: none may change anything.
let world: PanelWorld<People>;
let ada: Visitor;
/** Another session of the same person. */
let other: Visitor;

beforeAll(async () => {
  world = await startPanelWorld(people);
  ada = await world.signedIn("ada");
  other = await new Visitor(world).signIn();
});
afterAll(() => world.stop());

/** Every form that changes how a person signs in. */
const forms = [
  "/account/password",
  "/account/sessions/end-others",
  "/account/sessions/tok_1/end",
  "/account/two-factor/begin",
  "/account/two-factor/confirm",
  "/account/two-factor/remove",
  "/account/recovery-codes",
  "/account/proof",
  "/account/passkeys/new",
  "/account/passkeys/psk_1/rename",
  "/account/passkeys/psk_1/remove",
  "/account/identities/link",
  "/account/identities/idn_1/remove",
  "/account/proof/provider",
  "/members/mem_1/second-factor",
  "/sign-in",
  "/sign-in/second-factor",
  "/sign-in/passkey",
];
const fields = { current_password: "a", new_password: "b", repeat_password: "b", code: "1", name: "x" };

describe.each(forms)("the form of %s", (path) => {
  const mutations = () => world.api.calls.filter((call) => !call.startsWith("GET "));

  test("is refused, and has no effect, unless a page of this session sent it", async () => {
    const token = tokenIn(await ada.page("/servers"));
    const foreign = tokenIn(await other.page("/servers"));
    const before = mutations();
    const refused = [
      await ada.post(path, fields),
      await ada.post(path, { ...fields, [formTokenField]: foreign }),
      await ada.post(path, { ...fields, [formTokenField]: mintFormToken("guessed") }),
      await ada.post(path, { ...fields, [formTokenField]: token }, { "sec-fetch-site": "cross-site" }),
      await ada.post(path, { ...fields, [formTokenField]: token }, { "sec-fetch-site": "same-site" }),
      await ada.post(
        path,
        { ...fields, [formTokenField]: token },
        { origin: "null", "sec-fetch-site": "cross-site" },
      ),
      await ada.post(path, fields, { "content-type": "text/plain" }),
      await ada.post(path, { ...fields, _method: "PUT" }, { "x-http-method-override": "PUT" }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    expect(mutations()).toEqual(before);
  });

  test("opening its address changes nothing", async () => {
    const before = mutations().length;
    await ada.get(`${path}?${new URLSearchParams(fields)}`);
    // A page may request a challenge, which writes nothing.
    const changes = mutations().slice(before);
    expect(changes.filter((call) => !call.includes("passkey-options"))).toEqual([]);
  });
});

test("the second step of a sign-in requires the first", async () => {
  const stranger = new Visitor(world);
  expect((await stranger.get("/sign-in/second-factor")).headers.get("location")).toBe("/sign-in");
});

test("personal secrets are on no page, also while the API does not answer", async () => {
  const typed = { password: "swordfish 1", code: "246810", new_password: "swordfish 2", name: "x" };
  const passwords = { ...typed, current_password: "swordfish 3", repeat_password: "swordfish 2" };
  const token = tokenIn(await ada.page("/account/security"));
  world.api.away = true;
  onTestFinished(() => {
    world.api.away = false;
  });
  for (const form of ["/account/password", "/account/proof", "/account/two-factor/confirm"]) {
    const away = await ada.post(form, { ...passwords, [formTokenField]: token });
    expect(away.status, form).toBe(503);
    expect(await away.text(), form).not.toMatch(/swordfish|246810/);
  }
});

test("a refusal that the panel does not know is a page with the API's reason, and no failure", async () => {
  world.api.refusesFor = /^POST \/me\/passkey-options/;
  onTestFinished(() => {
    world.api.refusesFor = null;
  });
  const answer = await ada.get("/account/passkeys/new");
  expect(answer.status).toBe(409);
  expect(await answer.text()).toContain("An operator has locked this.");
});
