import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { everything } from "../../testing/scenes/everything.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import type { Visitor } from "../../testing/visitor.ts";

/** Only the last test changes anything. */
let world: PanelWorld<FactsOf<typeof everything>>;
let ada: Visitor;
beforeAll(async () => {
  world = await startPanelWorld(everything);
});
beforeEach(async () => {
  ada = await world.signedIn("ada");
});
afterAll(() => world?.stop());

const pages = () => {
  const { servers, networks, firewalls, gateways, loadBalancers, domains, certificates } = world.facts;
  return [
    [`/servers/${servers["app-1"]}`, "Create a server", "Sunucu oluşturma"],
    [`/networks/${networks.shop}`, "Create a network", "Ağ oluşturma"],
    [`/firewalls/${firewalls.web}`, "Create a firewall", "Güvenlik duvarı oluşturma"],
    [`/domains/${domains.shop}`, "Add a domain", "Alan adı ekleme"],
    [`/gateways/${gateways.out}`, "Create a gateway", "Ağ geçidi oluşturma"],
    [`/certificates/${certificates.uploaded}`, "Create a certificate", "Sertifika oluşturma"],
    [`/load-balancers/${loadBalancers.front}`, "Create a load balancer", "Yük dengeleyici oluşturma"],
  ] as const;
};
const tabsIn = (page: string) => /<nav class="tabs" aria-label="[^"]*">[\s\S]*?<\/nav>/.exec(page)?.[0] ?? "";
const hrefsIn = (tabs: string) => [...tabs.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);

test("each resource has a tab with its own audit trail only, as text", async () => {
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const all = await world.real.list("/audit?limit=200");
  for (const [page, words, sözler] of pages()) {
    expect(await ada.page(page), page).toContain(`href="${page}/audit"`);
    const trail = await ada.page(`${page}/audit`);
    expect(trail).toContain(words);
    const own = all.filter(({ resource }) => resource === page.split("/").at(-1)).map(({ id }) => id);
    expect(own.length).toBeLessThan(all.length);
    expect([...trail.matchAll(/<tr id="(aud_[^"]*)"/g)].map(([, id]) => id)).toEqual(own);
    expect(await turkish.page(`${page}/audit`)).toContain(sözler);
  }
});

test("the tabs of a resource are the same on each of its pages, and the current one is marked", async () => {
  const [[server]] = [pages()[0] ?? [""]];
  const first = hrefsIn(tabsIn(await ada.page(server)));
  expect(first).toEqual(
    ["", "/network", "/console-sessions", "/jobs", "/usage", "/audit", "/settings"].map(
      (tab) => `${server}${tab}`,
    ),
  );
  for (const tab of ["network", "console-sessions", "jobs", "usage", "audit", "settings"]) {
    const tabs = tabsIn(await ada.page(`${server}/${tab}`));
    expect(hrefsIn(tabs)).toEqual(first);
    expect(tabs).toContain(`href="${server}/${tab}" aria-current="page"`);
  }
});

test("a tab that a role may not read is absent, and its address shows nothing", async () => {
  const mia = await world.signedIn("mia");
  for (const [page] of pages()) {
    expect(await mia.page(page)).not.toContain(`href="${page}/audit"`);
  }
  expect((await ada.get("/servers/srv_00000000000000000000000000/audit")).status).toBe(404);
});

test("the jobs and usage tabs of a server contain only its own", async () => {
  const { servers, jobs } = world.facts;
  const [own, other] = [servers["app-1"], servers["app-2"]];
  const html = await ada.page(`/servers/${own}/jobs`);
  expect(html).toContain(`row-${jobs.running}`);
  expect(html).not.toContain(`row-${jobs.failed}`);
  const usage = await ada.page(`/servers/${own}/usage`);
  expect(usage).toContain(`resource=${own}`);
  expect(usage).not.toContain(`resource=${other}`);
});

test("each tab has the resource's header, and breadcrumbs to the list and the resource", async () => {
  for (const [page] of pages()) {
    const name = /<h1>([^<]+)<\/h1>/.exec(await ada.page(page))?.[1];
    for (const href of hrefsIn(tabsIn(await ada.page(page)))) {
      const tab = await ada.page(href ?? "");
      expect(tab, href).toContain(`<h1>${name}</h1>`);
      const crumbs = /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(tab)?.[0] ?? "";
      const list = page.slice(0, page.indexOf("/", 1));
      // The list of gateways is below the networks.
      const above = list === "/gateways" ? ["/networks", list] : [list];
      expect(hrefsIn(crumbs), href).toEqual(href === page ? above : [...above, page]);
    }
  }
});

test("a server that is being deleted has no danger zone, but the way back", async () => {
  const leaving = world.facts.servers["app-3"];
  const settings = await ada.page(`/servers/${leaving}/settings`);
  expect(settings).not.toContain('id="danger"');
  expect(settings).toContain(`/servers/${leaving}/cancel-deletion`);
});

test("an action that the contract no longer has is shown by its code", async () => {
  const server = world.facts.servers["app-2"];
  await world.real.sql(
    "update audit set action = 'server.teleport' where resource = $1 and action = 'server.create'",
    [server],
  );
  expect(await ada.page(`/servers/${server}/audit`)).toContain("server.teleport");
  expect(await ada.page("/audit?action=server.teleport")).toMatch(/value="server.teleport" selected/);
});
