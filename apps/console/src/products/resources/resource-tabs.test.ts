import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeEntry } from "../../testing/fake-audit.ts";
import { seedEverything } from "../../testing/seed-everything.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedEverything(world.api.state);
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const pages = () => {
  const { servers, networks, firewalls, gateways } = world.api.state;
  return [
    [`/servers/${servers[0]?.id}`, "Create a server", "Sunucu oluşturma"],
    [`/networks/${networks[0]?.id}`, "Create a network", "Ağ oluşturma"],
    [`/firewalls/${firewalls[0]?.id}`, "Change a firewall", "Güvenlik duvarını değiştirme"],
    [`/gateways/${gateways[0]?.id}`, "Create a gateway", "Ağ geçidi oluşturma"],
  ] as const;
};
const tabsIn = (page: string) => /<nav class="tabs" aria-label="[^"]*">[\s\S]*?<\/nav>/.exec(page)?.[0] ?? "";
const hrefsIn = (tabs: string) => [...tabs.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);

test("each resource has a tab with its own audit trail only, as text", async () => {
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  for (const [page, words, sözler] of pages()) {
    expect(await ada.page(page), page).toContain(`href="${page}/audit"`);
    const trail = await ada.page(`${page}/audit`);
    expect(trail).toContain(words);
    expect(trail.match(/<tr id="aud_/g)).toHaveLength(1);
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
  const mia = await new Visitor(world).signIn("mia@example.org", "making things");
  for (const [page] of pages()) {
    expect(await mia.page(page)).not.toContain(`href="${page}/audit"`);
  }
  expect((await ada.get("/servers/srv_00000000000000000000000000/audit")).status).toBe(404);
});

test("the jobs and usage tabs of a server contain only its own", async () => {
  const [server, other] = world.api.state.servers;
  const jobs = await ada.page(`/servers/${server?.id}/jobs`);
  const [own, others] = world.api.state.jobs;
  expect(jobs).toContain(`row-${own?.id}`);
  expect(jobs).not.toContain(`row-${others?.id}`);
  const usage = await ada.page(`/servers/${server?.id}/usage`);
  expect(usage).toContain(`resource=${server?.id}`);
  expect(usage).not.toContain(`resource=${other?.id}`);
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
  const leaving = world.api.state.servers.find(({ deletion }) => deletion !== null);
  const settings = await ada.page(`/servers/${leaving?.id}/settings`);
  expect(settings).not.toContain('id="danger"');
  expect(settings).toContain(`/servers/${leaving?.id}/cancel-deletion`);
});

test("an action that the contract no longer has is shown by its code", async () => {
  const [server] = world.api.state.servers;
  const [organisation] = world.api.state.organisations;
  world.api.state.audit.push(
    fakeEntry({
      action: "server.teleport",
      resource: server?.id ?? null,
      organisation_id: organisation?.id ?? null,
    }),
  );
  expect(await ada.page(`/servers/${server?.id}/audit`)).toContain("server.teleport");
  expect(await ada.page("/audit?action=server.teleport")).toMatch(/value="server.teleport" selected/);
});
