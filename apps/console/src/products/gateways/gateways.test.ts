import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeGateway } from "../../testing/fake-gateways.ts";
import { fakePublicIp } from "../../testing/fake-public-ips.ts";
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
const subnetId = (name: string) => network().subnets.find((each) => each.name === name)?.id ?? "";

/** A gateway that serves the subnet `app`. */
function seedGateway(): string {
  const gateway = fakeGateway("out", network(), [subnetId("app")], "203.0.113.77");
  world.api.state.gateways.push(gateway);
  return `/gateways/${gateway.id}`;
}

test("a gateway is created for a network; data subnets cannot be chosen, and a refusal keeps the input", async () => {
  const path = `/gateways/new?network=${network().id}`;
  expect(await ada.page("/gateways")).toContain('href="/gateways/new"');
  expect(await ada.page("/gateways/new")).toContain(`href="${path}"`);
  const page = await ada.page(path);
  expect(page).toMatch(new RegExp(`value="${subnetId("db")}"[^>]*disabled`));
  expect(page).not.toMatch(new RegExp(`value="${subnetId("app")}"[^>]*disabled`));
  const fields = { network_id: network().id, name: "out", public_ip: "", description: "" };
  const chosen = [subnetId("app"), subnetId("jobs")];
  const made = await ada.submit(path, "/gateways/new", { ...fields, subnet_ids: chosen });
  const [gateway] = world.api.state.gateways;
  expect(made.headers.get("location")).toBe(`/gateways/${gateway?.id}?notice=created`);
  expect(gateway?.subnets.map(({ name }) => name)).toEqual(["app", "jobs"]);
  const again = await ada.submit(path, "/gateways/new", { ...fields, subnet_ids: [subnetId("admin")] });
  expect(again.status).toBe(409);
  const refused = await again.text();
  expect(refused).toContain('id="name-problem"');
  expect(refused).toMatch(new RegExp(`value="${subnetId("admin")}"[^>]*checked`));
  expect(refused).not.toMatch(new RegExp(`value="${subnetId("app")}"[^>]*checked`));
});

test("choices are complete, whatever the number of networks, servers and addresses", async () => {
  const { state } = world.api;
  const path = seedGateway();
  const own = network();
  const [server] = state.servers;
  if (server === undefined) throw new Error("no server");
  const many = Array.from({ length: 450 }, (_, index) => String(1000 + index));
  for (const each of many) {
    state.servers.push({
      ...server,
      id: server.id.slice(0, -4) + each,
      name: `zz-${each}`,
      status: "running",
      public_ips: [],
    });
    state.networks.unshift({
      ...network(),
      id: network().id.slice(0, -4) + each,
      name: `net-${each}`,
      subnets: [],
    });
    state.publicIps.push(fakePublicIp(`203.0.113.${each}`, server));
  }
  const free = fakePublicIp("203.0.113.44");
  state.publicIps.push(free);
  const page = await ada.page(path);
  for (const each of many) expect(page).toContain(`>zz-${each}`);
  expect(page).toMatch(new RegExp(`href="/networks/${own.id}"[^>]*>${own.name}`));
  expect(await ada.page(`/gateways/new?network=${own.id}`)).toContain(free.address);
  expect(await ada.page("/gateways")).toContain(`${own.name}</a>`);
  expect(await ada.page("/gateways/new")).toContain("net-1449");
  expect(await ada.page(`/public-ips/${free.id}`)).toContain("zz-1449");
  const serversPage = await ada.page(`/servers/${server.id}`);
  expect(serversPage).toMatch(new RegExp(`href="/networks/${own.id}"[^>]*>${own.name}`));
});

test("a gateway is created with an address of the organisation, if it is free", async () => {
  const { state } = world.api;
  const free = fakePublicIp("203.0.113.44");
  const attached = fakePublicIp("203.0.113.45", state.servers[0]);
  state.publicIps.push(free, attached);
  const path = `/gateways/new?network=${network().id}`;
  const page = await ada.page(path);
  expect(page).toContain(`<option value="${free.id}">203.0.113.44</option>`);
  expect(page).not.toContain("203.0.113.45");
  const fields = { network_id: network().id, name: "out", public_ip: free.id, description: "" };
  await ada.submit(path, "/gateways/new", { ...fields, subnet_ids: [subnetId("app")] });
  expect(state.gateways[0]?.public_ip.address).toBe("203.0.113.44");
});

test("subnets are served and removed, and the page shows the state of the edge", async () => {
  const path = seedGateway();
  await ada.submit(path, `${path}/serve`, { subnet_id: subnetId("admin") });
  const page = await ada.page(path);
  expect(page).toContain("on its way");
  expect(page).toContain("updating");
  expect(page).not.toContain("db · 10.20.3.0/24");
  await ada.submit(path, `${path}/unserve`, { subnet_id: subnetId("app") });
  expect(await ada.page(path)).toContain("detaching");
  expect(await ada.page(path)).toMatch(/disabled[^>]*>\s*Detach/);
  // Its job has failed: it can be retried.
  Object.assign(world.api.state.gateways[0] ?? {}, { job_id: null });
  expect(await ada.page(path)).not.toMatch(/disabled[^>]*>\s*Detach/);
});

test("ports are forwarded to servers of served subnets, and refused beside their fields", async () => {
  const path = seedGateway();
  const server = world.api.state.servers.find(({ name }) => name === "app-2");
  const page = await ada.page(path);
  expect(page).toContain(`value="${server?.id}"`);
  expect(page).not.toContain(">db-1</option>");
  const fields = {
    protocol: "tcp",
    listen_port: "443",
    server_id: server?.id ?? "",
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
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  const said = await (await turkish.submit(path, `${path}/forward`, fields)).text();
  expect(said).toMatch(/id="listen_port-problem">\s*Bu /);
  const port_forward_id = world.api.state.portForwards[0]?.id ?? "";
  await ada.submit(path, `${path}/unforward`, { port_forward_id });
  expect(await ada.page(path)).toContain("being removed");
  expect(await ada.page(path)).toMatch(/disabled[^>]*>\s*Remove/);
  Object.assign(world.api.state.gateways[0] ?? {}, { job_id: null });
  expect(await ada.page(path)).not.toMatch(/disabled[^>]*>\s*Remove/);
});

test("a deletion requires its name, and while it forwards a port the button gives the reason", async () => {
  const path = seedGateway();
  const gateway = world.api.state.gateways[0];
  if (gateway === undefined) throw new Error("no gateway");
  gateway.actions.delete = { allowed: false, code: "in_use", reason: "The gateway forwards tcp 443" };
  const settings = await ada.page(`${path}/settings`);
  expect(settings).toMatch(/disabled[^>]*>\s*Delete gateway/);
  expect(settings).toContain("The gateway forwards tcp 443");
  gateway.actions.delete = { allowed: true, code: null, reason: null };
  const wrong = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "other" });
  expect(wrong.status).toBe(422);
  expect(gateway.status).toBe("active");
  const deleted = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "out" });
  expect(gateway.status).toBe("deleting");
  // The overview follows the deletion.
  expect(deleted.headers.get("location")).toBe(`${path}?notice=deleting`);
});

test("a network is chosen first, among those without a gateway", async () => {
  const { networks } = world.api.state;
  const offered = (id: string | undefined) => `href="/gateways/new?network=${id}"`;
  expect(await ada.page("/gateways/new")).toContain(offered(network().id));
  seedGateway();
  const page = await ada.page("/gateways/new");
  expect(page).not.toContain(offered(network().id));
  for (const { id } of networks.slice(1)) expect(page).toContain(offered(id));
  networks.length = 1;
  expect(await ada.page("/gateways/new")).toContain("Every network here has a gateway.");
  networks.length = 0;
  const none = await ada.page("/gateways/new");
  expect(none).toContain("there is none yet");
  expect(none).toContain('href="/networks/new"');
});

test("a gateway is renamed on its settings tab; the address of a refused form leads to the form's tab", async () => {
  const path = seedGateway();
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
  const path = seedGateway();
  const page = await ada.page(`/networks/${network().id}`);
  expect(page).toContain(`href="${path}"`);
  expect(page).toContain("Gateway out");
  expect(page).toContain("203.0.113.77");
  const other = world.api.state.networks[1]?.id;
  expect(await ada.page(`/networks/${other}`)).toContain(`href="/gateways/new?network=${other}"`);
});

test("a viewer can change nothing of it", async () => {
  const path = seedGateway();
  const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
  const page = await vera.page(path);
  expect(page).toContain("203.0.113.77");
  for (const tab of ["", "/settings"])
    expect(await vera.page(`${path}${tab}`)).not.toContain(`action="${path}/`);
  const other = world.api.state.networks[1]?.id;
  const refused = await vera.get(`/gateways/new?network=${other}`);
  expect(refused.status).toBe(403);
  expect(await refused.text()).not.toContain('action="/gateways/new"');
});
