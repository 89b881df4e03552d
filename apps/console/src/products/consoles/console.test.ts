import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeConsoleSession } from "../../testing/fake-consoles.ts";
import { fieldIn, tokenIn, Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
let id: string;
let token: string;

async function create(name: string): Promise<string> {
  const page = await ada.page("/servers/new");
  const made = await ada.post("/servers/new", {
    form_token: tokenIn(page),
    idempotency_key: fieldIn(page, "idempotency_key") ?? "",
    region: "ist1",
    image: "ubuntu-24.04",
    package: "s",
    start: "on",
    intent: "create",
    name,
  });
  return made.headers.get("location")?.split("/").at(-1)?.split("?")[0] ?? "";
}

beforeAll(async () => {
  world = await startConsoleWorld();
  ada = await new Visitor(world).signIn();
  id = await create("web-1");
  token = /data-token="([^"]+)"/.exec(await ada.page(`/servers/${id}/console`))?.[1] ?? "";
});
afterAll(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

test("the page of a console may connect to the API and nowhere else, and no other page may", async () => {
  const socketOrigin = new URL(world.api.url).origin.replace("http", "ws");
  const console_ = (await ada.get(`/servers/${id}/console`)).headers.get("content-security-policy") ?? "";
  expect(console_).toContain(`connect-src 'self' ${socketOrigin};`);
  expect(console_).not.toContain("unsafe");
  const other = (await ada.get(`/servers/${id}`)).headers.get("content-security-policy") ?? "";
  expect(other).not.toMatch(/ws:/);
});

test("a screen names the keyboard layout that applies, with the default of the page's language", async () => {
  expect(await ada.page(`/servers/${id}/console?type=vnc`)).toContain("localectl set-keymap uk");
  expect(await ada.page(`/servers/${id}/console?type=serial`)).not.toContain("set-keymap");
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  expect(await turkish.page(`/servers/${id}/console?type=vnc`)).toContain("localectl set-keymap trq");
});

test("a ticket is requested by a form of the panel, and is never part of a page", async () => {
  const path = `/servers/${id}/console/ticket`;
  const answer = await ada.post(path, { form_token: token, type: "serial" });
  expect(await answer.json()).toEqual({
    url: expect.stringContaining(id),
    protocol: "kule.console.serial.v1",
    ticket: "one-time",
  });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect((await ada.post(path, { form_token: "guess", type: "serial" })).status).toBeGreaterThanOrEqual(400);
  const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  expect((await ada.post(path, { form_token: token }, foreign)).status).toBeGreaterThanOrEqual(400);
});

test("another person's open console is shown, and can be taken over", async () => {
  const busy = await create("busy");
  const refused = await ada.post(`/servers/${busy}/console/ticket`, { form_token: token, type: "serial" });
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ code: "console_in_use" });
  const taken = await ada.post(`/servers/${busy}/console/ticket`, {
    form_token: token,
    type: "serial",
    take_over: "true",
  });
  expect(taken.status).toBe(200);
});

test("a console in an unreachable region reports the region, not the API", async () => {
  const far = await create("far-away");
  const refused = await ada.post(`/servers/${far}/console/ticket`, { form_token: token, type: "serial" });
  expect(await refused.json()).toEqual({
    code: "region_unavailable",
    text: "region ist1 does not answer at the moment",
  });
});

test("the console tab of a server lists who has the console open, and can end the session", async () => {
  const listed = world.api.state.consoleSessions;
  expect(await ada.page(`/servers/${id}/console-sessions`)).toContain("Nobody has the console open");
  const session = fakeConsoleSession({ id });
  listed.push(session, fakeConsoleSession({ id }, { is_own: true, type: "vnc", state: "ticketed" }));
  const page = await ada.page(`/servers/${id}/console-sessions`);
  expect(page).toContain("412 B typed, 48.2 kB shown");
  expect(page).toContain('aria-label="End the session of Barış Yılmaz"');
  expect(page).toContain("about to open");
  const end = (sessionId: string, key: string) =>
    ada.post(`/servers/${id}/end-console`, {
      form_token: tokenIn(page),
      idempotency_key: key,
      session_id: sessionId,
    });
  const ended = await end(session.id, crypto.randomUUID());
  expect(ended.headers.get("location")).toBe(`/servers/${id}/console-sessions?notice=consoleEnded`);
  expect(listed.map(({ is_own }) => is_own)).toEqual([true]);
  // The session ended by itself in the meantime.
  const again = await end(session.id, crypto.randomUUID());
  expect(again.headers.get("location")).toBe(`/servers/${id}/console-sessions?notice=consoleEnded`);
  expect(await ada.page(`/servers/${id}/console-sessions?notice=consoleEnded`)).toContain(
    "The console session is ended.",
  );
  listed.splice(0);
});

test("a role that may not open a console sees who has it open, and no button to end it", async () => {
  world.api.state.consoleSessions.push(fakeConsoleSession({ id }));
  const viewer = await new Visitor(world).signIn("vera@example.org", "only looking");
  const page = await viewer.page(`/servers/${id}/console-sessions`);
  expect(page).toContain("Barış Yılmaz");
  expect(page).not.toContain("/end-console");
  expect(await ada.page(`/servers/${id}/console-sessions`)).toContain("/end-console");
  world.api.state.consoleSessions.splice(0);
});
