import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeAttachment, fakeFirewall } from "../../testing/fake-firewalls.ts";
import { fakeGateway } from "../../testing/fake-gateways.ts";
import { seedNetworks } from "../../testing/seed-networks.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedNetworks(world.api.state);
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const network = () => {
  const [first] = world.api.state.networks;
  if (first === undefined) throw new Error("no network");
  return first;
};
const subnet = (name: string) => {
  const found = world.api.state.subnets.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no subnet ${name}`);
  return found;
};

/** The two drawings of a page, without the tables around them. */
const drawings = (page: string) => page.match(/<svg class="map"[\s\S]*?<\/svg>/g) ?? [];

test("the map shows subnets, tiers, servers, other networks, and the gateway", async () => {
  const path = `/networks/${network().id}`;
  const maps = drawings(await ada.page(path));
  expect(maps).toHaveLength(2);
  for (const map of maps) {
    for (const words of ["shop", "10.20.0.0/16", "app-1", "10.20.0.10", "203.0.113.10", "staging", "office"])
      expect(map).toContain(words);
    expect(map).toContain('data-tier="data"');
    expect(map).toContain("never the internet");
    expect(map).toContain("No gateway");
    expect(map).toContain("4 subnets with 7 servers. No gateway leads to the internet.");
  }
  expect(maps.map((map) => /aria-labelledby="([^"]+)"/.exec(map)?.[1])).toEqual([
    "map-title-wide",
    "map-title-narrow",
  ]);
  subnet("app").egress = "gateway";
  world.api.state.gateways.push(fakeGateway("out", network(), [subnet("app").id], "203.0.113.77"));
  const [served = ""] = drawings(await ada.page(path));
  expect(served).toContain("A gateway leads to the internet.");
  expect(served).not.toContain("no internet</text>");
  expect(served.match(/data-out=""/g)).toHaveLength(1);
});

test("the tables have the content of the map", async () => {
  const page = (await ada.page(`/networks/${network().id}`)).replaceAll(/<svg[\s\S]*?<\/svg>/g, "");
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
  const { servers, firewalls } = world.api.state;
  const [from, to] = servers;
  const ask = (fields: Record<string, string>, visitor = ada) =>
    visitor.page(
      `/networks/${network().id}?${new URLSearchParams({ protocol: "tcp", port: "22", from: from?.id ?? "", ...fields })}`,
    );
  const inside = await ask({ to: to?.id ?? "" });
  expect(inside).toContain('data-verdict="allowed"');
  expect(inside).toContain("The subnets of a network reach each other");
  const outside = await ask({ to: "address", to_address: "198.51.100.7" });
  expect(outside).toContain("The network has no gateway");
  expect(await ask({ to: "address", to_address: "nowhere" })).toContain('id="explain-to-problem"');
  const firewall = fakeFirewall({
    name: "web",
    rules: [{ action: "deny", protocol: "tcp", ports: ["22"], peers: [{ any: true }] }],
  });
  firewall.attachments.push(fakeAttachment(world.api.state, { server_id: to?.id ?? "" }));
  firewalls.push(firewall);
  const denied = await ask({ to: to?.id ?? "" });
  expect(denied).toContain("A rule of firewall web decides:");
  expect(denied).toContain(`href="/firewalls/${firewall.id}#${firewall.rules[0]?.id}"`);
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  expect(await ask({ to: "address", to_address: "198.51.100.7" }, turkish)).toContain("Ağ geçidi yok");
});

test("a network and its subnets are renamed, described and deleted by name, or the button gives the reason", async () => {
  const path = `/networks/${network().id}`;
  const settings = `${path}/settings`;
  const renamed = await ada.submit(settings, settings, { name: "store", description: "new" });
  expect(renamed.headers.get("location")).toBe(`${settings}?notice=changed`);
  expect(network()).toMatchObject({ name: "store", description: "new" });
  const taken = await ada.submit(settings, settings, { name: "office", description: "" });
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="name-problem"');

  const { id } = subnet("db");
  const own = `${path}/subnets/${id}/settings`;
  const changed = await ada.submit(own, own, {
    name: "storage",
    dns_servers: "9.9.9.9, 1.1.1.1",
  });
  expect(changed.headers.get("location")).toBe(`${own}?notice=changed`);
  expect(subnet("storage").dns_servers).toEqual(["9.9.9.9", "1.1.1.1"]);
  const wrong = await ada.submit(own, own, { name: "storage", dns_servers: "here" });
  expect(wrong.status).toBe(422);
  const refused = await wrong.text();
  expect(refused).toContain('id="subnet-dns-problem"');
  expect(refused).toContain("Servers are in it: 2.");
  expect(await ada.page(settings)).toContain("It still has subnets: app, jobs, admin, storage.");

  world.api.state.servers.length = 0;
  for (const each of world.api.state.subnets) Object.assign(each.usage, { addresses_used: 0 });
  const mismatch = await ada.submit(own, `${path}/subnets/${id}/delete`, { confirm_name: "other" });
  expect(mismatch.status).toBe(422);
  expect(await mismatch.text()).toContain('id="confirm-name-problem"');
  for (const { id: each, name } of [...world.api.state.subnets]) {
    const page = `${path}/subnets/${each}`;
    const gone = await ada.submit(`${page}/settings`, `${page}/delete`, { confirm_name: name });
    expect(gone.headers.get("location")).toBe(`${path}?notice=subnetDeleted`);
  }
  expect(world.api.state.subnets).toEqual([]);
  const deleted = await ada.submit(settings, `${path}/delete`, { confirm_name: "store" });
  expect(deleted.headers.get("location")).toBe("/networks?notice=deleted");
  expect((await ada.get(path)).status).toBe(404);
});

test("a subnet is created on a page that its network links to, and a refusal is shown in its form", async () => {
  const path = `/networks/${network().id}`;
  const create = `${path}/subnets/new`;
  for (const page of [path, "/networks"]) expect(await ada.page(page)).toContain(`href="${create}"`);
  const fields = { name: "extra", cidr: "10.20.9.0/24", tier: "app" };
  const made = await ada.submit(create, create, fields);
  const location = made.headers.get("location") ?? "";
  expect(location).toBe(`${path}/subnets/${subnet("extra").id}?notice=created`);
  expect(await ada.page(location)).toContain("The subnet is created.");
  const again = await ada.submit(create, create, fields);
  expect(again.status).toBe(409);
  const refused = await again.text();
  expect(refused).toContain('id="cidr-problem"');
  expect(refused).toContain('value="10.20.9.0/24"');
});

test("a network is created on a page that the list links to, and a refusal is shown in its form", async () => {
  const list = await ada.page("/networks");
  expect(list).toContain('href="/networks/new"');
  expect(list).not.toContain('action="/networks/new"');
  const fields = { name: "extra", region: "ist1", cidr: "" };
  const made = await ada.submit("/networks/new", "/networks/new", fields);
  const created = world.api.state.networks.find(({ name }) => name === "extra");
  expect(made.headers.get("location")).toBe(`/networks/${created?.id}?notice=created`);
  const wrong = await ada.submit("/networks/new", "/networks/new", { ...fields, cidr: "ten" });
  expect(wrong.status).toBe(422);
  const refused = await wrong.text();
  expect(refused).toContain('id="cidr-problem"');
  expect(refused).toContain('value="extra"');
});

test("a subnet's tabs have its header, and breadcrumbs through its network", async () => {
  const { id, name } = subnet("app");
  const path = `/networks/${network().id}`;
  const own = `${path}/subnets/${id}`;
  for (const [page, above] of [
    [own, ["/networks", path]],
    [`${own}/settings`, ["/networks", path, own]],
  ] as const) {
    const html = await ada.page(page);
    expect(html).toContain(`<h1>${name}</h1>`);
    const [crumbs = ""] = /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(html) ?? [];
    expect([...crumbs.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual(above);
    expect(html).toContain(`href="${page}" aria-current="page"`);
  }
});

test("a viewer sees the map and can change nothing", async () => {
  const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
  const page = await vera.page(`/networks/${network().id}`);
  expect(drawings(page)).toHaveLength(2);
  expect(page).not.toContain(`action="/networks/${network().id}/`);
  expect(page).not.toContain("/gateways/new");
  expect(page).not.toContain("/subnets/new");
  const path = `/networks/${network().id}`;
  for (const create of ["/networks/new", `${path}/subnets/new`])
    expect((await vera.get(create)).status).toBe(403);
  for (const settings of [`${path}/settings`, `${path}/subnets/${subnet("app").id}/settings`]) {
    expect(page).not.toContain(`href="${settings}"`);
    expect(await vera.page(settings)).not.toContain(`action="${path}`);
  }
});
