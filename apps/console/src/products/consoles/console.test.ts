import { afterEach, beforeEach, expect, test } from "vitest";
import { openConsole } from "../../testing/open-consoles.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import { tokenIn, type Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
let id: string;

beforeEach(async () => {
  world = await startPanelWorld(servers);
  ada = await world.signedIn("ada");
  id = world.facts.servers["web-1"];
});
afterEach(() => world.stop());

/** Requests a ticket as the script of the visitor's page of the console does. */
async function askTicket(
  visitor: Visitor,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
) {
  const page = await visitor.page(`/servers/${id}/console`);
  const form_token = /data-token="([^"]+)"/.exec(page)?.[1] ?? "";
  const all = { form_token, type: "serial", ...fields };
  return visitor.post(`/servers/${id}/console/ticket`, all, headers);
}
const sessions = () => world.real.list(`/servers/${id}/console-sessions`);

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
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await turkish.page(`/servers/${id}/console?type=vnc`)).toContain("localectl set-keymap trq");
});

test("a ticket is requested by a form of the panel, and is never part of a page", async () => {
  const answer = await askTicket(ada);
  const ticket = (await answer.json()) as { readonly ticket: string };
  expect(ticket).toEqual({
    url: expect.stringContaining(id),
    protocol: "kule.console.serial.v1",
    ticket: expect.stringMatching(/.{20}/),
  });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  for (const page of ["console", "console-sessions"])
    expect(await ada.page(`/servers/${id}/${page}`)).not.toContain(ticket.ticket);
  expect(world.logged()).not.toContain(ticket.ticket);
  const opened = await sessions();
  expect(opened).toHaveLength(1);
  expect((await askTicket(ada, { form_token: "guess" })).status).toBeGreaterThanOrEqual(400);
  const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  expect((await askTicket(ada, {}, foreign)).status).toBeGreaterThanOrEqual(400);
  expect(await sessions()).toEqual(opened);
});

test("another person's open console is shown, and can be taken over", async () => {
  await askTicket(await world.signedIn("mia"));
  const refused = await askTicket(ada);
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ code: "console_in_use" });
  const taken = await askTicket(ada, { take_over: "true" });
  expect(taken.status).toBe(200);
  expect((await sessions()).map(({ actor }) => actor.name)).toEqual(["Ada Lovelace"]);
});

test("a console in an unreachable region reports the region, not the API", async () => {
  await world.real.sql("update region set health_at = clock_timestamp() - interval '10 minutes'");
  const refused = await askTicket(ada);
  expect(await refused.json()).toEqual({
    code: "region_unavailable",
    text: "region ist1 does not answer at the moment; try again in a while",
  });
});

test("the console tab of a server lists who has the console open, and can end the session", async () => {
  const tab = `/servers/${id}/console-sessions`;
  expect(await ada.page(tab)).toContain("Nobody has the console open");
  await askTicket(await world.signedIn("mia"));
  const [session] = await sessions();
  await openConsole(world.real, session.id, { bytesIn: 412, bytesOut: 48_230 });
  await askTicket(ada, { type: "vnc" });
  const page = await ada.page(tab);
  expect(page).toContain("412 B typed, 48.2 kB shown");
  expect(page).toContain('aria-label="End the session of Mia Member"');
  expect(page).toContain("about to open");
  const end = (sessionId: string, key: string) =>
    ada.post(`/servers/${id}/end-console`, {
      form_token: tokenIn(page),
      idempotency_key: key,
      session_id: sessionId,
    });
  const ended = await end(session.id, crypto.randomUUID());
  expect(ended.headers.get("location")).toBe(`${tab}?notice=consoleEnded`);
  expect((await sessions()).map(({ actor }) => actor.name)).toEqual(["Ada Lovelace"]);
  // The session ended by itself in the meantime.
  const again = await end(session.id, crypto.randomUUID());
  expect(again.headers.get("location")).toBe(`${tab}?notice=consoleEnded`);
  expect(await ada.page(`${tab}?notice=consoleEnded`)).toContain("The console session is ended.");
});

test("a role that may not open a console sees who has it open, and no button to end it", async () => {
  await askTicket(await world.signedIn("mia"));
  const vera = await world.signedIn("vera");
  const page = await vera.page(`/servers/${id}/console-sessions`);
  expect(page).toContain("Mia Member");
  expect(page).not.toContain("/end-console");
  expect(await ada.page(`/servers/${id}/console-sessions`)).toContain("/end-console");
});
