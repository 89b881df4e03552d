import { afterEach, beforeEach, expect, test } from "vitest";
import { addNetworks, addServers, reserveAddresses } from "../../testing/many-rows.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const networkId = (name: string) => world.facts.networks[name] ?? "";
const subnetId = (name: string) => world.facts.subnets[name] ?? "";
const serverId = (name: string) => world.facts.servers[name] ?? "";

/** Creates a gateway of network `shop`, which serves the subnet `app` unless others are named; its path. */
async function createGateway(more: object = {}): Promise<string> {
  const body = { name: "out", network_id: networkId("shop"), subnet_ids: [subnetId("app")], ...more };
  const { gateway } = await done(world.real.acme.post("/gateways", body));
  await world.real.agent.work();
  return `/gateways/${gateway.id}`;
}

/** The region's edge cannot apply what the network has become. */
async function failAtEdge(): Promise<void> {
  const { agent } = world.real;
  await agent.fail(await agent.take("NetworkApply"));
}

test("a gateway is created for a network; data subnets cannot be chosen, and a refusal keeps the input", async () => {
  const { acme } = world.real;
  const path = `/gateways/new?network=${networkId("shop")}`;
  expect(await ada.page("/gateways")).toContain('href="/gateways/new"');
  expect(await ada.page("/gateways/new")).toContain(`href="${path}"`);
  const page = await ada.page(path);
  expect(page).toMatch(new RegExp(`value="${subnetId("db")}"[^>]*disabled`));
  expect(page).not.toMatch(new RegExp(`value="${subnetId("app")}"[^>]*disabled`));
  const fields = { network_id: networkId("shop"), name: "out", public_ip: "", description: "" };
  const chosen = [subnetId("app"), subnetId("jobs")];
  const made = await ada.submit(path, "/gateways/new", { ...fields, subnet_ids: chosen });
  const [gateway] = await world.real.list("/gateways");
  expect(made.headers.get("location")).toBe(`/gateways/${gateway.id}?notice=created`);
  expect(new Set(gateway.subnets.map(({ name }: { name: string }) => name))).toEqual(
    new Set(["app", "jobs"]),
  );
  const again = await ada.submit(path, "/gateways/new", { ...fields, name: "other", subnet_ids: chosen });
  expect(again.status).toBe(409);

  const staging = networkId("staging");
  const add = async (name: string) =>
    (await done(acme.post(`/networks/${staging}/subnets`, { name, tier: "app" }))).subnet.id;
  const [one, two] = [await add("one"), await add("two")];
  const taken = await ada.submit(`/gateways/new?network=${staging}`, "/gateways/new", {
    ...fields,
    network_id: staging,
    subnet_ids: [two],
  });
  expect(taken.status).toBe(409);
  const refused = await taken.text();
  expect(refused).toContain('id="name-problem"');
  expect(refused).toMatch(new RegExp(`value="${two}"[^>]*checked`));
  expect(refused).not.toMatch(new RegExp(`value="${one}"[^>]*checked`));
});

test("choices are complete, whatever the number of networks, servers and addresses", async () => {
  const { acme, operator } = world.real;
  const shop = networkId("shop");
  const wide = { name: "wide", tier: "app", cidr: "10.20.16.0/20" };
  const { subnet } = await done(acme.post(`/networks/${shop}/subnets`, wide));
  const path = await createGateway({ subnet_ids: [subnet.id] });
  const free = await done(acme.post("/public-ips", { region: "ist1", address: "203.0.113.20" }));
  const pool = { region: "ist1", name: "more", gateway: "198.51.96.1", prefix_length: 20 };
  const { id: poolId } = await done(operator.post("/ip-pools", pool));
  await done(operator.post(`/ip-pools/${poolId}/ranges`, { cidr: "198.51.96.0/23" }));
  const allocation = { organisation_id: world.facts.acme.id, count: 450 };
  await done(operator.post(`/ip-pools/${poolId}/allocations`, allocation));
  // The lists begin with the newest: with these.
  const many = Array.from({ length: 450 }, (_, index) => String(1000 + index));
  const names = (prefix: string) => many.map((each) => `${prefix}-${each}`);
  await addServers(world.real, serverId("app-2"), { id: subnet.id, first: "10.20.16.10" }, names("zz"));
  await addNetworks(world.real, networkId("office"), names("net"));
  await reserveAddresses(world.real, world.facts.acme.id, many.length);
  const page = await ada.page(path);
  for (const each of many) expect(page).toContain(`>zz-${each}`);
  expect(page).toMatch(new RegExp(`href="/networks/${shop}"[^>]*>shop`));
  expect(await ada.page(`/gateways/new?network=${shop}`)).toContain(free.address);
  expect(await ada.page("/gateways")).toContain("shop</a>");
  expect(await ada.page("/gateways/new")).toContain("net-1449");
  expect(await ada.page(`/public-ips/${free.id}`)).toContain("zz-1449");
  const serversPage = await ada.page(`/servers/${serverId("app-1")}`);
  expect(serversPage).toMatch(new RegExp(`href="/networks/${shop}"[^>]*>shop`));
});

test("a gateway is created with an address of the organisation, if it is free", async () => {
  const free = await done(world.real.acme.post("/public-ips", { region: "ist1", address: "203.0.113.20" }));
  const path = `/gateways/new?network=${networkId("shop")}`;
  const page = await ada.page(path);
  expect(page).toContain(`<option value="${free.id}">203.0.113.20</option>`);
  // A server has it.
  expect(page).not.toContain("203.0.113.10");
  const fields = { network_id: networkId("shop"), name: "out", public_ip: free.id, description: "" };
  await ada.submit(path, "/gateways/new", { ...fields, subnet_ids: [subnetId("app")] });
  const addresses = (await world.real.list("/gateways")).map(({ public_ip }) => public_ip.address);
  expect(addresses).toEqual(["203.0.113.20"]);
});

test("subnets are served and removed, and the page shows the state of the edge", async () => {
  const path = await createGateway();
  await ada.submit(path, `${path}/serve`, { subnet_id: subnetId("admin") });
  const page = await ada.page(path);
  expect(page).toContain("on its way");
  expect(page).toContain("updating");
  expect(page).not.toContain("db · 10.20.3.0/24");
  await ada.submit(path, `${path}/unserve`, { subnet_id: subnetId("app") });
  expect(await ada.page(path)).toContain("detaching");
  expect(await ada.page(path)).toMatch(/disabled[^>]*>\s*Detach/);
  // Its job has failed: it can be retried.
  await failAtEdge();
  expect(await ada.page(path)).not.toMatch(/disabled[^>]*>\s*Detach/);
});

test("ports are forwarded to servers of served subnets, and refused beside their fields", async () => {
  const path = await createGateway();
  const server = serverId("app-2");
  const page = await ada.page(path);
  expect(page).toContain(`value="${server}"`);
  expect(page).not.toContain(">db-1</option>");
  const fields = {
    protocol: "tcp",
    listen_port: "443",
    server_id: server,
    target_port: "8443",
    description: "The shop",
  };
  const wrong = await ada.submit(path, `${path}/forward`, { ...fields, listen_port: "https" });
  expect(wrong.status).toBe(422);
  expect(await wrong.text()).toContain('id="listen_port-problem"');
  const made = await ada.submit(path, `${path}/forward`, fields);
  expect(made.headers.get("location")).toBe(`${path}?notice=forwarded`);
  const shown = await ada.page(path);
  for (const words of ["TCP 443", "10.20.0.11:8443", "The shop"]) expect(shown).toContain(words);
  expect(shown).toContain("A port is forwarded into it");
  const taken = await ada.submit(path, `${path}/forward`, fields);
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="listen_port-problem"');
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const said = await (await turkish.submit(path, `${path}/forward`, fields)).text();
  expect(said).toMatch(/id="listen_port-problem">\s*Bu /);
  await world.real.agent.work();
  const [{ id: port_forward_id }] = await world.real.list(`${path}/port-forwards`);
  await ada.submit(path, `${path}/unforward`, { port_forward_id });
  expect(await ada.page(path)).toContain("being removed");
  expect(await ada.page(path)).toMatch(/disabled[^>]*>\s*Remove/);
  await failAtEdge();
  expect(await ada.page(path)).not.toMatch(/disabled[^>]*>\s*Remove/);
});

test("a deletion requires its name, and while it forwards a port the button gives the reason", async () => {
  const path = await createGateway();
  const { acme, agent } = world.real;
  const body = { protocol: "tcp", listen_port: 443, server_id: serverId("app-2"), target_port: 8443 };
  const { port_forward: forward } = await done(acme.post(`${path}/port-forwards`, body));
  await agent.work();
  const settings = await ada.page(`${path}/settings`);
  expect(settings).toMatch(/disabled[^>]*>\s*Delete gateway/);
  expect(settings).toContain("The gateway forwards tcp 443");
  await done(acme.delete(`${path}/port-forwards/${forward.id}`));
  await agent.work();
  const wrong = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "other" });
  expect(wrong.status).toBe(422);
  expect((await world.real.read(path)).status).toBe("active");
  const deleted = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "out" });
  expect((await world.real.read(path)).status).toBe("deleting");
  // The overview follows the deletion.
  expect(deleted.headers.get("location")).toBe(`${path}?notice=deleting`);
  await agent.work();
  expect((await ada.get(path)).status).toBe(404);
});

test("a network is chosen first, among those without a gateway", async () => {
  const offered = (name: string) => `href="/gateways/new?network=${networkId(name)}"`;
  expect(await ada.page("/gateways/new")).toContain(offered("shop"));
  await createGateway();
  const page = await ada.page("/gateways/new");
  expect(page).not.toContain(offered("shop"));
  for (const name of ["staging", "office"]) expect(page).toContain(offered(name));
  for (const name of ["staging", "office"])
    await createGateway({ name, network_id: networkId(name), subnet_ids: [] });
  expect(await ada.page("/gateways/new")).toContain("Every network here has a gateway.");
});

test("an organisation without a network is led to the form of a network", async () => {
  const { id } = await done(world.real.operator.post("/organisations", { slug: "beta", name: "Beta Works" }));
  const grace = await world.signedIn("grace");
  await grace.submit("/organisations", "/organisations", { organisation_id: id });
  const none = await grace.page("/gateways/new");
  expect(none).toContain("there is none yet");
  expect(none).toContain('href="/networks/new"');
});

test("a gateway is renamed on its settings tab; the address of a refused form leads to the form's tab", async () => {
  const path = await createGateway();
  const changed = await ada.submit(`${path}/settings`, `${path}/settings`, { name: "exit", description: "" });
  expect(changed.headers.get("location")).toBe(`${path}/settings?notice=changed`);
  expect(await ada.page(`${path}/settings?notice=changed`)).toContain("The gateway is changed.");
  expect(await ada.page(path)).toContain("<h1>exit</h1>");
  for (const act of ["serve", "unserve", "forward", "unforward"])
    expect((await ada.get(`${path}/${act}`)).headers.get("location")).toBe(path);
  for (const act of ["labels", "delete"])
    expect((await ada.get(`${path}/${act}`)).headers.get("location")).toBe(`${path}/settings`);
});

test("the network's map shows its gateway and links to it; a network without one offers to create it", async () => {
  const path = await createGateway();
  const { address } = (await world.real.read(path)).public_ip;
  const page = await ada.page(`/networks/${networkId("shop")}`);
  expect(page).toContain(`href="${path}"`);
  expect(page).toContain("Gateway out");
  expect(page).toContain(address);
  const other = networkId("office");
  expect(await ada.page(`/networks/${other}`)).toContain(`href="/gateways/new?network=${other}"`);
});

test("a viewer can change nothing of it", async () => {
  const path = await createGateway();
  const vera = await world.signedIn("vera");
  const page = await vera.page(path);
  expect(page).toContain((await world.real.read(path)).public_ip.address);
  for (const tab of ["", "/settings"])
    expect(await vera.page(`${path}${tab}`)).not.toContain(`action="${path}/`);
  const refused = await vera.get(`/gateways/new?network=${networkId("office")}`);
  expect(refused.status).toBe(403);
  expect(await refused.text()).not.toContain('action="/gateways/new"');
});
