import { ApiCaller } from "@kule/api/testing/api-caller";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { testSecret } from "../../testing/test-panel.ts";
import { tokenIn, Visitor } from "../../testing/visitor.ts";
import { endSessions, sessionTokenOf } from "../../testing/visitor-session.ts";

let world: PanelWorld<People>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  ada = new Visitor(world);
});
afterEach(() => world.stop());

test("every page without a session leads to the sign-in page and back afterwards", async () => {
  const response = await ada.get("/jobs?status=failed");
  expect(response.status).toBe(303);
  const location = response.headers.get("location") ?? "";
  expect(location).toBe("/sign-in?return_to=%2Fjobs%3Fstatus%3Dfailed");
  const page = await ada.page(location);
  const signedIn = await ada.post("/sign-in", {
    form_token: tokenIn(page),
    return_to: "/jobs?status=failed",
    email: "ada@example.org",
    password: "correct horse",
  });
  expect(signedIn.headers.get("location")).toBe("/jobs?status=failed");
});

test("a wrong password is refused, keeps the e-mail and does not say which of the two was wrong", async () => {
  for (const email of ["ada@example.org", "nobody@example.org"]) {
    const response = await ada.submit("/sign-in", "/sign-in", { email, password: "guess" });
    expect(response.status).toBe(401);
    const page = await response.text();
    expect(page).toContain("Incorrect e-mail or password.");
    expect(page).toContain(`value="${email}"`);
    expect(page).not.toContain("guess");
  }
});

test("the cookie is encrypted, hidden from scripts, and holds nothing readable", async () => {
  const fields = { email: "ada@example.org", password: "correct horse" };
  const signIn = await ada.submit("/sign-in", "/sign-in", fields);
  const [set = ""] = signIn.headers.getSetCookie().filter((line) => line.startsWith("kule_session"));
  expect(set).toContain("HttpOnly");
  expect(set).toContain("SameSite=Lax");
  const cookie = ada.cookies.get("kule_session") ?? "";
  expect(cookie).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
  expect(cookie).not.toContain(await sessionTokenOf(world, ada));
});

test("a session that was revoked elsewhere ends at the sign-in page, which leads back", async () => {
  await ada.signIn();
  await endSessions(world, "ada");
  const response = await ada.get("/ssh-keys");
  expect(response.headers.get("location")).toBe("/sign-in?return_to=%2Fssh-keys&why=ended");
  expect(ada.cookies.has("kule_session")).toBe(false);
  expect(await ada.page("/sign-in?return_to=%2Fssh-keys&why=ended")).toContain("Your session has ended");
});

test("a partial request after the session's end is refused, and its page stays for the script", async () => {
  await ada.signIn();
  await endSessions(world, "ada");
  const response = await ada.get("/servers?q=a", { "hx-request": "true" });
  expect(response.status).toBe(401);
  expect([...response.headers.keys()].filter((name) => name.startsWith("hx-"))).toEqual([]);
});

test("a session that ends while the create form is sent keeps what was chosen", async () => {
  await ada.signIn();
  const page = await ada.page("/servers/new");
  await endSessions(world, "ada");
  const choices = { region: "ist1", image: "ubuntu-24.04", package: "l", start: "on", intent: "create" };
  const response = await ada.post(
    "/servers/new",
    { ...choices, form_token: tokenIn(page), name: "web-7" },
    { referer: "http://console.test/servers/new" },
  );
  const back = new URL(response.headers.get("location") ?? "", "http://console.test").searchParams.get(
    "return_to",
  );
  expect(back).toContain("/servers/new?");
  await ada.signIn();
  const again = await ada.page(back ?? "");
  expect(again).toMatch(/id="field-name"[^>]*value="web-7"/);
  expect(again).toMatch(/id="package-l"[^>]*checked/);
  expect(back).not.toContain("form_token");
});

test("signing out closes the session at the API too", async () => {
  await ada.signIn();
  const session = new ApiCaller(world.real.app, await sessionTokenOf(world, ada));
  expect((await session.get("/me")).status).toBe(200);
  const response = await ada.submit("/servers", "/sign-out", {});
  expect(response.headers.get("location")).toBe("/sign-in?why=signed-out");
  expect((await session.get("/me")).status).toBe(401);
  expect((await ada.get("/servers")).status).toBe(303);
});

test("a second secret in front seals, and the old one still opens", async () => {
  const rotated = await startPanelWorld(people, {
    secrets: ["a newer secret, also long enough to be one", testSecret],
  });
  try {
    const moved = new Visitor(rotated);
    const before = await world.signedIn("ada");
    moved.cookies.set("kule_session", before.cookies.get("kule_session") ?? "");
    expect((await moved.get("/servers")).status).toBe(200);
    const sealed = await new Visitor(rotated).signIn();
    // A panel with the old secret alone does not open what the new one has sealed.
    ada.cookies.set("kule_session", sealed.cookies.get("kule_session") ?? "");
    expect((await ada.get("/servers")).headers.get("location")).toBe("/sign-in");
  } finally {
    await rotated.stop();
  }
});
