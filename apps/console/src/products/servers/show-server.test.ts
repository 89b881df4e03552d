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

test("a managed server names its owner, and offers nothing that changes it", async () => {
  await world.real.sql(
    `update server set managed_by_type = 'load_balancer', managed_by_id = 'lb_06ex2v3m8n4k6q1r5s7t9w0y2z',
                       managed_by_name = 'front' where id = $1`,
    [id],
  );
  const offered = /<form[^>]*action="\/servers\/srv_|href="[^"]*\/(resize|console)"|id="(danger|rename)"/;
  for (const tab of ["", "/network", "/console-sessions", "/settings"]) {
    const shown = await ada.page(page + tab);
    expect(shown).toContain(
      'Managed by load balancer front. <a href="/load-balancers/lb_06ex2v3m8n4k6q1r5s7t9w0y2z">It is changed there.</a>',
    );
    expect(shown).not.toMatch(offered);
  }
  expect(await ada.page(`/servers/${world.facts.servers["web-2"]}/settings`)).toMatch(offered);
  const refused = await ada.submit("/servers", `${page}/power`, { action: "reboot" });
  expect([refused.status, (await refused.text()).includes("managed by the load balancer front")]).toEqual([
    409,
    true,
  ]);
  const own = await ada.page("/servers");
  const web2 = `open-${world.facts.servers["web-2"]}`;
  expect([own.includes(`open-${id}`), own.includes(web2)]).toEqual([false, true]);
  const managed = await ada.page("/servers?managed=true");
  expect(managed).toContain("Managed by load balancer front.");
  expect([managed.includes(web2), managed.includes(`acts-${id}`)]).toEqual([false, false]);
});

test("an unknown server is a 404 with a link to the list", async () => {
  const response = await ada.get("/servers/srv_nothing");
  expect(response.status).toBe(404);
  expect(await response.text()).toContain("belongs to another organisation");
});
