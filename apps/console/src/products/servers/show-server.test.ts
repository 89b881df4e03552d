import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { createSeen, scanSome } from "../../testing/scans.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import { stopServer } from "../../testing/server-states.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
let id: string;
let page: string;
beforeEach(async () => {
  world = await startPanelWorld(servers);
  id = world.facts.servers["web-1"];
  page = `/servers/${id}`;
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

test("a viewer is offered only what its role permits", async () => {
  const vera = await world.signedIn("vera");
  const offers = async (visitor: Visitor) => {
    const pages = await Promise.all(["", "/settings"].map((tab) => visitor.page(page + tab)));
    const forms = ["power", "settings", "delete"].map((act) => `action="${page}/${act}"`);
    return [...forms, `href="${page}/resize"`, 'id="confirm-name"', 'id="danger"'].filter((part) =>
      pages.join("").includes(part),
    );
  };
  expect(await offers(ada)).toHaveLength(6);
  expect(await offers(vera)).toEqual([]);
  const list = await vera.page("/servers");
  expect(list).toContain("web-1");
  expect(list).not.toContain('href="/servers/new"');
  expect(list).not.toContain(`id="acts-${id}"`);
  const form = await vera.get("/servers/new");
  expect(form.status).toBe(403);
  expect(await form.text()).not.toContain('id="create-form"');
});

test("a stopped server has no guest agent that answers", async () => {
  const server = await createSeen(world.real, "seen");
  await scanSome(world.real, [server.vm({ power: "on" })]);
  expect(await ada.page(`/servers/${server.id}`)).toContain("<dd>Answers</dd>");
  await stopServer(world.real, `/servers/${server.id}`);
  await scanSome(world.real, [server.vm({ power: "off" })]);
  const stopped = await ada.page(`/servers/${server.id}`);
  expect(stopped).not.toContain("<dd>Answers</dd>");
  expect(stopped).toContain("Not running: the server is off");
});

test("a protected server shows why it cannot be deleted, and the API decides", async () => {
  await ada.submit(page, `${page}/protection`, { protect: "true" });
  expect(await ada.page(`${page}/settings`)).toContain("The server is protected from deletion");
  const forced = await ada.submit(page, `${page}/delete`, { confirm_name: "web-1" });
  expect(forced.status).toBe(409);
  expect(await forced.text()).toContain("The server is protected from deletion");
  expect((await world.real.read(page)).deletion).toBe(null);
});

test("a member can set protection, and sees why it cannot be removed", async () => {
  const mia = await world.signedIn("mia");
  const missing = "Your role does not allow this.";
  expect(await mia.page(`${page}/settings`)).not.toContain(missing);
  await mia.submit(page, `${page}/protection`, { protect: "true" });
  expect((await world.real.read(page)).protection.delete).toBe(true);
  expect(await mia.page(`${page}/settings`)).toContain(missing);
  expect(await ada.page(`${page}/settings`)).not.toContain(missing);
});

test("an unknown server is a 404 with a link to the list", async () => {
  const response = await ada.get("/servers/srv_nothing");
  expect(response.status).toBe(404);
  expect(await response.text()).toContain("belongs to another organisation");
});
