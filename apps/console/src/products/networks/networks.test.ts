import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { destroyServers } from "../../testing/server-states.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
/** The page of network `shop`, and its path in the API. */
let shop: string;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  shop = `/networks/${world.facts.networks.shop}`;
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const subnet = async (name: string) => {
  const found = (await world.real.list(`${shop}/subnets`)).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no subnet ${name}`);
  return found;
};

/** The two drawings of a page, without the tables around them. */
const drawings = (page: string) => page.match(/<svg class="map"[\s\S]*?<\/svg>/g) ?? [];

test("the map shows subnets, tiers, servers, other networks, and the gateway", async () => {
  const maps = drawings(await ada.page(shop));
  expect(maps).toHaveLength(2);
  for (const map of maps) {
    for (const words of ["shop", "10.20.0.0/16", "app-1", "10.20.0.10", "203.0.113.10", "staging", "office"])
      expect(map).toContain(words);
    expect(map).toContain('data-tier="data"');
    expect(map).toContain("never the internet");
    expect(map).toContain("No gateway");
    expect(map).toContain("4 subnets with 7 servers. No gateway leads to the internet.");
    // Every subnet is connected to the router, also that of app-1, which has a public address.
    const wires = /<g class="map-wires">.*?<\/g>/s.exec(map)?.[0] ?? "";
    expect(wires.match(/<path /g)).toHaveLength(4);
  }
  expect(maps.map((map) => /aria-labelledby="([^"]+)"/.exec(map)?.[1])).toEqual([
    "map-title-wide",
    "map-title-narrow",
  ]);
  const { networks, subnets } = world.facts;
  const gateway = { name: "out", network_id: networks.shop, subnet_ids: [subnets.app] };
  await done(world.real.acme.post("/gateways", gateway));
  await world.real.agent.work();
  const [served = ""] = drawings(await ada.page(shop));
  expect(served).toContain("A gateway leads to the internet.");
  expect(served).not.toContain("no internet</text>");
  expect(served.match(/data-out=""/g)).toHaveLength(1);
});

test("the tables have the content of the map", async () => {
  const page = (await ada.page(shop)).replaceAll(/<svg[\s\S]*?<\/svg>/g, "");
  for (const words of [
    "10.20.3.0/24",
    "10.20.3.1",
    "2 of 253",
    "db-2",
    "10.20.3.11",
    "203.0.113.10",
    "never",
  ])
    expect(page).toContain(words);
});

test("the page's address asks who reaches whom, and the answer lists the packet's hops", async () => {
  const { "app-2": from = "", "jobs-1": to = "" } = world.facts.servers;
  const ask = (fields: Record<string, string>, visitor = ada) =>
    visitor.page(`${shop}?${new URLSearchParams({ protocol: "tcp", port: "22", from, ...fields })}`);
  const inside = await ask({ to });
  expect(inside).toContain('data-verdict="allowed"');
  expect(inside).toContain("The subnets of a network reach each other");
  const outside = await ask({ to: "address", to_address: "198.51.100.7" });
  expect(outside).toContain("The network has no gateway");
  expect(await ask({ to: "address", to_address: "nowhere" })).toContain('id="explain-to-problem"');
  const rules = [{ action: "deny", protocol: "tcp", ports: ["22"], peers: [{ any: true }] }];
  const { acme, agent } = world.real;
  const { firewall } = await done(acme.post("/firewalls", { name: "web", region: "ist1", rules }));
  await done(acme.post(`/firewalls/${firewall.id}/attachments`, { server_id: to }));
  await agent.work();
  const denied = await ask({ to });
  expect(denied).toContain("A rule of firewall web decides:");
  expect(denied).toContain(`href="/firewalls/${firewall.id}#${firewall.rules[0]?.id}"`);
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await ask({ to: "address", to_address: "198.51.100.7" }, turkish)).toContain("Ağ geçidi yok");
});

test("a network and its subnets are renamed, described and deleted by name, or the button gives the reason", async () => {
  const settings = `${shop}/settings`;
  const renamed = await ada.submit(settings, settings, { name: "store", description: "new" });
  expect(renamed.headers.get("location")).toBe(`${settings}?notice=changed`);
  expect(await world.real.read(shop)).toMatchObject({ name: "store", description: "new" });
  const taken = await ada.submit(settings, settings, { name: "office", description: "" });
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="name-problem"');

  const own = `${shop}/subnets/${world.facts.subnets.db}/settings`;
  const changed = await ada.submit(own, own, {
    name: "storage",
    dns_servers: "9.9.9.9, 1.1.1.1",
  });
  expect(changed.headers.get("location")).toBe(`${own}?notice=changed`);
  expect((await subnet("storage")).dns_servers).toEqual(["9.9.9.9", "1.1.1.1"]);
  const wrong = await ada.submit(own, own, { name: "storage", dns_servers: "here" });
  expect(wrong.status).toBe(422);
  const refused = await wrong.text();
  expect(refused).toContain('id="subnet-dns-problem"');
  expect(refused).toContain("Servers are in it: 2.");
  expect(await ada.page(settings)).toContain("It still has subnets: app, jobs, admin, storage.");

  await destroyServers(world.real);
  const mismatch = await ada.submit(own, own.replace(/settings$/, "delete"), { confirm_name: "other" });
  expect(mismatch.status).toBe(422);
  expect(await mismatch.text()).toContain('id="confirm-name-problem"');
  for (const { id, name } of await world.real.list(`${shop}/subnets`)) {
    const page = `${shop}/subnets/${id}`;
    const gone = await ada.submit(`${page}/settings`, `${page}/delete`, { confirm_name: name });
    expect(gone.headers.get("location")).toBe(`${shop}?notice=subnetDeleted`);
  }
  await world.real.agent.work();
  expect(await world.real.list(`${shop}/subnets`)).toEqual([]);
  const deleted = await ada.submit(settings, `${shop}/delete`, { confirm_name: "store" });
  expect(deleted.headers.get("location")).toBe("/networks?notice=deleted");
  await world.real.agent.work();
  expect((await ada.get(shop)).status).toBe(404);
});

test("a subnet is created on a page that its network links to, and a refusal is shown in its form", async () => {
  const create = `${shop}/subnets/new`;
  for (const page of [shop, "/networks"]) expect(await ada.page(page)).toContain(`href="${create}"`);
  const fields = { name: "extra", cidr: "10.20.9.0/24", tier: "app" };
  const made = await ada.submit(create, create, fields);
  const location = made.headers.get("location") ?? "";
  expect(location).toBe(`${shop}/subnets/${(await subnet("extra")).id}?notice=created`);
  expect(await ada.page(location)).toContain("The subnet is created.");
  const again = await ada.submit(create, create, { ...fields, name: "again" });
  expect(again.status).toBe(409);
  const refused = await again.text();
  expect(refused).toContain('id="cidr-problem"');
  expect(refused).toContain('value="10.20.9.0/24"');
});

test("a network is created on a page that the list links to, and a refusal is shown in its form", async () => {
  const list = await ada.page("/networks");
  expect(list).toContain('href="/networks/new"');
  expect(list).not.toContain('action="/networks/new"');
  // The default is a region that can be reached, and not the first by name.
  expect(await ada.page("/networks/new")).toMatch(/<select[^>]* name="region"[^>]*><option value="ist1"/);
  const fields = { name: "extra", region: "ist1", cidr: "" };
  const made = await ada.submit("/networks/new", "/networks/new", fields);
  const created = (await world.real.list("/networks")).find(({ name }) => name === "extra");
  expect(made.headers.get("location")).toBe(`/networks/${created?.id}?notice=created`);
  const wrong = await ada.submit("/networks/new", "/networks/new", { ...fields, cidr: "ten" });
  expect(wrong.status).toBe(422);
  const refused = await wrong.text();
  expect(refused).toContain('id="cidr-problem"');
  expect(refused).toContain('value="extra"');
});

test("a subnet's tabs have its header, and breadcrumbs through its network", async () => {
  const own = `${shop}/subnets/${world.facts.subnets.app}`;
  for (const [page, above] of [
    [own, ["/networks", shop]],
    [`${own}/settings`, ["/networks", shop, own]],
  ] as const) {
    const html = await ada.page(page);
    expect(html).toContain(`<h1>app</h1>`);
    const [crumbs = ""] = /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(html) ?? [];
    expect([...crumbs.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual(above);
    expect(html).toContain(`href="${page}" aria-current="page"`);
  }
});

test("a viewer sees the map and can change nothing", async () => {
  const vera = await world.signedIn("vera");
  const page = await vera.page(shop);
  expect(drawings(page)).toHaveLength(2);
  expect(page).not.toContain(`action="${shop}/`);
  expect(page).not.toContain("/gateways/new");
  expect(page).not.toContain("/subnets/new");
  for (const create of ["/networks/new", `${shop}/subnets/new`])
    expect((await vera.get(create)).status).toBe(403);
  for (const settings of [`${shop}/settings`, `${shop}/subnets/${world.facts.subnets.app}/settings`]) {
    expect(page).not.toContain(`href="${settings}"`);
    expect(await vera.page(settings)).not.toContain(`action="${shop}`);
  }
});
