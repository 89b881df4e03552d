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
  const renamed = await ada.submit(path, `${path}/settings`, { name: "store", description: "new" });
  expect(renamed.headers.get("location")).toBe(`${path}?notice=changed`);
  expect(network()).toMatchObject({ name: "store", description: "new" });
  const taken = await ada.submit(path, `${path}/settings`, { name: "office", description: "" });
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="name-problem"');

  const { id } = subnet("db");
  const own = `${path}/subnets/${id}`;
  const changed = await ada.submit(own, `${own}/settings`, {
    name: "storage",
    dns_servers: "9.9.9.9, 1.1.1.1",
  });
  expect(changed.headers.get("location")).toBe(`${own}?notice=changed`);
  expect(subnet("storage").dns_servers).toEqual(["9.9.9.9", "1.1.1.1"]);
  const wrong = await ada.submit(own, `${own}/settings`, { name: "storage", dns_servers: "here" });
  expect(wrong.status).toBe(422);
  const refused = await wrong.text();
  expect(refused).toContain('id="subnet-dns-problem"');
  expect(refused).toContain("Servers are in it: 2.");
  expect(await ada.page(path)).toContain("It still has subnets: app, jobs, admin, storage.");

  world.api.state.servers.length = 0;
  for (const each of world.api.state.subnets) Object.assign(each.usage, { addresses_used: 0 });
  const mismatch = await ada.submit(own, `${own}/delete`, { confirm_name: "other" });
  expect(mismatch.status).toBe(422);
  expect(await mismatch.text()).toContain('id="confirm-name-problem"');
  for (const { id: each, name } of [...world.api.state.subnets]) {
    const page = `${path}/subnets/${each}`;
    const gone = await ada.submit(page, `${page}/delete`, { confirm_name: name });
    expect(gone.headers.get("location")).toBe(`${path}?notice=subnetDeleted`);
  }
  expect(world.api.state.subnets).toEqual([]);
  const deleted = await ada.submit(path, `${path}/delete`, { confirm_name: "store" });
  expect(deleted.headers.get("location")).toBe("/networks?notice=deleted");
  expect((await ada.get(path)).status).toBe(404);
});

test("a subnet is created on the network's page, and a refusal is shown in its form", async () => {
  const { id } = network();
  const path = `/networks/${id}`;
  const fields = { [`name-${id}`]: "extra", [`cidr-${id}`]: "10.20.9.0/24", tier: "app" };
  const made = await ada.submit(path, `${path}/subnets`, fields);
  expect(made.headers.get("location")).toBe(`${path}?notice=subnet`);
  const again = await ada.submit(path, `${path}/subnets`, fields);
  expect(again.status).toBe(409);
  expect(await again.text()).toContain(`id="cidr-${id}-problem"`);
});

test("a viewer sees the map and can change nothing", async () => {
  const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
  const page = await vera.page(`/networks/${network().id}`);
  expect(drawings(page)).toHaveLength(2);
  expect(page).not.toContain(`action="/networks/${network().id}/`);
  expect(page).not.toContain("/gateways/new");
});
