import { madeUpload } from "@kule/api/testing/made-upload";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addLoadBalancer, seeHealth } from "../../testing/load-balancer-states.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import type { Visitor } from "../../testing/visitor.ts";
import { newListener } from "./listener-values.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const subnetId = (name: string) => world.facts.subnets[name] ?? "";
const serverId = (name: string) => world.facts.servers[name] ?? "";

/** A load balancer that serves, with a listener and targets unless others are named; its path. */
async function createBalancer(more: object = {}): Promise<string> {
  const id = await addLoadBalancer(world.real, "front", subnetId("app"), {
    listeners: [{ protocol: "http", port: 80, target_port: 8080 }],
    targets: [{ label_selector: "role=web" }],
    ...more,
  });
  return `/load-balancers/${id}`;
}

const fields = {
  name: "front",
  subnet_id: "",
  package: "m",
  algorithm: "least_connections",
  public_ip: "",
  protocol: "http",
  port: "80",
  target_port: "8080",
  certificate_ids: "",
  label_selector: "role=web",
  addresses: "10.20.0.99",
  description: "The shop",
  labels: "env=prod",
  intent: "create",
};
const create = (more: object = {}) =>
  ada.submit("/load-balancers/new", "/load-balancers/new", {
    ...fields,
    subnet_id: subnetId("app"),
    server_ids: [serverId("db-1")],
    ...more,
  });

test("a load balancer is created with its first listener and targets, and its page follows it until it serves", async () => {
  expect(await ada.page("/load-balancers")).toContain('href="/load-balancers/new"');
  const made = await create();
  const [balancer] = await world.real.list("/load-balancers");
  const path = `/load-balancers/${balancer.id}`;
  expect(made.headers.get("location")).toBe(`${path}?notice=created`);
  expect(balancer).toMatchObject({
    name: "front",
    package: "m",
    algorithm: "least_connections",
    description: "The shop",
    labels: { env: "prod" },
    ha: false,
  });
  expect(await world.real.list(`${path}/listeners`)).toMatchObject([
    { protocol: "http", port: 80, target_port: 8080 },
  ]);
  const targets = await world.real.list(`${path}/targets`);
  expect(new Set(targets.map((each) => each.label_selector ?? each.server_id ?? each.address))).toEqual(
    new Set(["role=web", serverId("db-1"), "10.20.0.99"]),
  );
  expect(await ada.page(`${path}?notice=created`)).toContain("provisioning");
  await world.real.agent.work();
  const page = await ada.page(path);
  expect(page).toContain("active");
  // Named, selected, and by address.
  for (const words of ["db-1", "app-1", "jobs-1", "10.20.0.99", "HTTP 80", "port 8080"])
    expect(page).toContain(words);
  expect(await ada.page("/load-balancers")).toContain('data-tone="good"');
});

test("the form says what would prevent it before it is sent, and sends nothing by that", async () => {
  const check = (more: object) =>
    ada.submit("/load-balancers/new", "/load-balancers/new/preview", {
      ...fields,
      subnet_id: subnetId("app"),
      ...more,
    });
  expect(await (await check({})).text()).toContain("Ready to create.");
  expect(await (await check({ ha: "on", public_ip: "auto" })).text()).toContain("Ready to create.");
  const inData = await (await check({ subnet_id: subnetId("db"), public_ip: "auto" })).text();
  expect(inData).toMatch(/Can&#39;t create yet|Can't create yet/);
  expect(inData).toMatch(/value="create"[^>]*disabled/);
  const wrong = await check({ port: "22", target_port: "x", addresses: "8.8.8" });
  expect(wrong.status).toBe(200);
  const page = await wrong.text();
  expect(page).toContain('id="addresses-problem"');
  expect(await world.real.list("/load-balancers")).toEqual([]);
});

test("a refused create form shows each error at its field and keeps what was typed", async () => {
  const refused = await create({ port: "22", label_selector: "role=", labels: "=x" });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain('id="labels-problem"'.replace("labels", "new-labels"));
  expect(page).toContain('value="10.20.0.99"');
  expect(page).toMatch(new RegExp(`value="${serverId("db-1")}"[^>]*checked`));
  await createBalancer();
  const taken = await create();
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="name-problem"');
});

test("the overview shows each target's health at each listener, with the reason of the last check", async () => {
  const path = await createBalancer({
    targets: [{ label_selector: "role=web" }, { address: "10.20.0.99", backup: true }],
  });
  await seeHealth(world.real, path.split("/")[2] ?? "", "10.20.0.99");
  const page = await ada.page(path);
  expect(page).toContain("The target refused the connection at port 8080.");
  expect(page).toContain("4 of 4 healthy");
  expect(page).toContain("backup");
  expect(page).toContain("7 requests/s");
  expect(page).toMatch(/<td[^>]*data-label="Errors \(5xx\)"[^>]*>\s*12\s*</);
  expect(page).toContain("Last 24 hours");
  expect(page).toContain("Machine 1");
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const said = await turkish.page(path);
  expect(said).toContain("Hedef bağlantıyı reddetti.");
  expect(said).not.toContain("The target");
});

test("a listener is added, edited and removed; an error stands at its field", async () => {
  const path = await createBalancer();
  const form = { ...newListener, protocol: "tcp", port: "5432" };
  const add = `${path}/listeners/new`;
  expect(await ada.page(path)).toContain(`href="${add}"`);
  const wrong = await ada.submit(add, add, {
    ...form,
    port: "22",
    timeout_seconds: "10",
    allowed_cidrs: "nowhere",
  });
  expect(wrong.status).toBe(422);
  const page = await wrong.text();
  for (const field of ["port", "timeout_seconds", "allowed_cidrs"])
    expect(page, field).toContain(`id="${field}-problem"`);
  const taken = await ada.submit(add, add, { ...form, port: "80" });
  expect(taken.status).toBe(409);
  expect(await taken.text()).toContain('id="port-problem"');
  const added = await ada.submit(add, add, { ...form, allowed_cidrs: "192.0.2.0/24\n198.51.100.0/24" });
  expect(added.headers.get("location")).toBe(`${path}?notice=listenerAdded`);
  const [listener] = await world.real.list(`${path}/listeners`);
  expect(listener).toMatchObject({
    protocol: "tcp",
    port: 5432,
    target_port: 5432,
    allowed_cidrs: ["192.0.2.0/24", "198.51.100.0/24"],
  });

  const one = `${path}/listeners/${listener.id}`;
  const changed = {
    ...form,
    protocol: "http",
    port: "8000",
    target_port: "8001",
    sticky: "on",
    ttl_seconds: "60",
    check_protocol: "http",
    path: "/up",
    expected_codes: "200",
    allowed_cidrs: "",
  };
  await ada.submit(one, one, changed);
  expect(await world.real.read(one)).toMatchObject({
    protocol: "http",
    port: 8000,
    target_port: 8001,
    sticky: { cookie_name: "SERVERID", ttl_seconds: 60 },
    health_check: { protocol: "http", path: "/up", expected_codes: "200" },
    allowed_cidrs: [],
  });
  // What is emptied is set back.
  await ada.submit(one, one, { ...changed, sticky: "", check_protocol: "tcp" });
  expect(await world.real.read(one)).toMatchObject({
    sticky: null,
    health_check: { protocol: "tcp", path: null, expected_codes: null },
  });
  const removed = await ada.submit(path, `${one}/delete`, {});
  expect(removed.headers.get("location")).toBe(`${path}?notice=listenerRemoved`);
  expect(await world.real.list(`${path}/listeners`)).toHaveLength(1);
  expect((await ada.get(`${one}/delete`)).headers.get("location")).toBe(path);
});

test("a listener chooses among the certificates of its region that can be used, and keeps those that it has", async () => {
  const { acme } = world.real;
  const certificate = async (name: string) => {
    const body = { name, type: "uploaded", region: "ist1", ...(await madeUpload([`${name}.example`])) };
    return (await done(acme.post("/certificates", body))).certificate.id as string;
  };
  const [shop, blog] = [await certificate("shop"), await certificate("blog")];
  const waiting = await done(
    acme.post("/certificates", {
      ...{ name: "waiting", type: "managed", region: "ist1", challenge: "http" },
      domain_names: ["waiting.example"],
    }),
  );
  const path = await createBalancer();
  const add = `${path}/listeners/new`;
  const offered = await ada.page(add);
  expect(offered).toContain("shop · shop.example");
  expect(offered).not.toContain(waiting.certificate.id);
  const form = { ...newListener, protocol: "https", port: "443" };
  const wrong = await ada.submit(add, add, { ...form, port: "22", certificate_ids: [shop, blog] });
  const page = await wrong.text();
  for (const id of [shop, blog]) expect(page).toMatch(new RegExp(`value="${id}"[^>]*checked`));
  await ada.submit(add, add, { ...form, certificate_ids: [shop, blog] });
  const listener = (await world.real.list(`${path}/listeners`)).find(({ port }) => port === 443);
  expect(listener.certificate_ids).toEqual([shop, blog]);
  expect(await ada.page(`${path}/listeners/${listener.id}`)).toMatch(
    new RegExp(`value="${blog}"[^>]*checked`),
  );
});

test("a target is added, weighted, drained and removed", async () => {
  const path = await createBalancer({ targets: [] });
  const add = `${path}/targets/new`;
  const form = {
    kind: "server",
    server_id: serverId("app-2"),
    label_selector: "role=web",
    address: "",
    weight: "1",
  };
  const page = await ada.page(add);
  for (const name of ["app-1", "db-2"]) expect(page).toContain(`>${name}</option>`);
  const wrong = await ada.submit(add, add, { ...form, kind: "address", address: "10.99.0.1", weight: "300" });
  expect(wrong.status).toBe(422);
  const refused = await wrong.text();
  expect(refused).toContain('id="address-problem"');
  expect(refused).toContain('id="weight-problem"');
  expect(refused).toMatch(/value="address"[^>]*checked/);
  const added = await ada.submit(add, add, form);
  expect(added.headers.get("location")).toBe(`${path}?notice=targetAdded`);
  // Only what was chosen is sent.
  const [target] = await world.real.list(`${path}/targets`);
  expect(target).toMatchObject({ server_id: serverId("app-2"), label_selector: null, weight: 1 });

  const one = `${path}/targets/${target.id}`;
  await ada.submit(one, one, { weight: "2", backup: "on" });
  expect((await world.real.list(`${path}/targets`))[0]).toMatchObject({
    weight: 2,
    backup: true,
    drain: false,
  });
  const drained = await ada.submit(path, `${one}/drain`, { drain: "true" });
  expect(drained.headers.get("location")).toBe(`${path}?notice=drained`);
  expect(await ada.page(path)).toContain("gets no new connections");
  await ada.submit(path, `${one}/drain`, { drain: "false" });
  expect((await world.real.list(`${path}/targets`))[0]).toMatchObject({ drain: false, weight: 2 });
  await ada.submit(path, `${one}/delete`, {});
  expect(await world.real.list(`${path}/targets`)).toEqual([]);
  expect((await ada.get(one)).status).toBe(404);
});

test("a change that a machine refused is explained, with the job and a way to apply it again", async () => {
  const path = await createBalancer();
  const { acme, agent } = world.real;
  await done(acme.patch(path, { algorithm: "source_hash" }));
  await agent.fail(await agent.take("LoadBalancerApply"), "configuration_refused");
  const page = await ada.page(path);
  expect(page).toContain("A machine has refused the last change.");
  expect(page).toMatch(/href="\/jobs\/job_/);
  const applied = await ada.submit(path, `${path}/apply`, {});
  expect(applied.headers.get("location")).toBe(`${path}?notice=applied`);
  await agent.work();
  expect(await ada.page(path)).not.toContain("A machine has refused");
});

test("name, description and algorithm are changed on the settings tab, and labels as of every resource", async () => {
  const path = await createBalancer();
  const form = { name: "edge", description: "Of the shop", algorithm: "source_hash" };
  const changed = await ada.submit(`${path}/settings`, `${path}/settings`, form);
  expect(changed.headers.get("location")).toBe(`${path}/settings?notice=changed`);
  expect(await world.real.read(path)).toMatchObject(form);
  expect(await ada.page(path)).toContain("<h1>edge</h1>");
  await ada.submit(`${path}/settings`, `${path}/labels`, { key: "env", value: "prod", intent: "set" });
  expect((await world.real.read(path)).labels).toEqual({ env: "prod" });
});

test("another size is chosen on the settings tab, which says what that means before it is asked for", async () => {
  const path = await createBalancer();
  const fresh = await ada.page(`${path}/settings`);
  expect(fresh).toContain("This is the size it has.");
  expect(fresh).not.toContain("nothing is served");
  const preview = await ada.submit(`${path}/settings`, `${path}/resize/preview`, { package: "m" });
  expect(preview.status).toBe(200);
  const chosen = await preview.text();
  for (const words of [
    "for about a minute nothing is served",
    "15,420 now, 30,840 then",
    "Ready to resize",
    `${path}/resize`,
  ])
    expect(chosen).toContain(words);
  expect((await world.real.read(path)).package).toBe("s");
  const resized = await ada.submit(`${path}/settings`, `${path}/resize`, { package: "m" });
  expect(resized.headers.get("location")).toBe(`${path}/settings?notice=resizing`);
  expect(await world.real.read(path)).toMatchObject({ package: "m", status: "updating" });
  const { acme, agent } = world.real;
  await agent.fail(await agent.take("ServerResize"));
  expect(await ada.page(path)).toContain("A machine could not be resized.");
  expect((await ada.submit(`${path}/settings`, `${path}/resize`, { package: "m" })).status).toBe(303);
  await agent.work();
  const again = await ada.submit(`${path}/settings`, `${path}/resize`, { package: "m" });
  expect(again.status).toBe(409);
  expect(await again.text()).toContain('id="package-problem"');
  const pair = await addLoadBalancer(world.real, "pair", subnetId("app"), { ha: true });
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const two = await turkish.submit(
    `/load-balancers/${pair}/settings`,
    `/load-balancers/${pair}/resize/preview`,
    { package: "l" },
  );
  expect(await two.text()).toContain("önce yedek olan");
  expect((await done(acme.get(`/load-balancers/${pair}`))).package).toBe("s");
});

test("a deletion requires the name, and the overview follows it until the load balancer is gone", async () => {
  const path = await createBalancer();
  const wrong = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "other" });
  expect(wrong.status).toBe(422);
  expect((await world.real.read(path)).status).toBe("active");
  const deleted = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "front" });
  expect(deleted.headers.get("location")).toBe(`${path}?notice=deleting`);
  const page = await ada.page(path);
  expect(page).toContain("deleting");
  expect(page).not.toContain(`href="${path}/listeners/new"`);
});

test("a server that it manages leads to it", async () => {
  const path = await createBalancer();
  const { machines } = await world.real.read(path);
  const page = await ada.page(`/servers/${machines[0].server_id}`);
  expect(page).toMatch(new RegExp(`Managed by load balancer front[^<]*<a href="${path}"`));
  expect(await ada.page(path)).toContain(`href="/servers/${machines[0].server_id}"`);
});

test("two machines show which one is active", async () => {
  const path = await createBalancer({ ha: true });
  await seeHealth(world.real, path.split("/")[2] ?? "");
  const page = await ada.page(path);
  for (const words of ["Machine 2", "standby", "two servers"]) expect(page).toContain(words);
});

test("two machines have one public address, which its own page and the picture show as the load balancer's", async () => {
  const path = await createBalancer({ ha: true, public_ip: "auto" });
  const { public_ip } = await world.real.read(path);
  const page = await ada.page(path);
  expect(page).toMatch(new RegExp(`class="map-mono"[^>]*>\\s*${public_ip.address.replaceAll(".", "\\.")}`));
  expect(page).toContain(`href="/public-ips/${public_ip.id}"`);
  const address = await ada.page(`/public-ips/${public_ip.id}`);
  expect(address).toContain(`href="${path}"`);
  expect(address).toMatch(/<select id="field-server_id" name="server_id" disabled/);
  expect(await ada.page("/public-ips")).toContain(`href="${path}"`);
});

test("an organisation without a subnet is led to the form of a network", async () => {
  const { id } = await done(world.real.operator.post("/organisations", { slug: "beta", name: "Beta Works" }));
  const grace = await world.signedIn("grace");
  await grace.submit("/organisations", "/organisations", { organisation_id: id });
  const none = await grace.page("/load-balancers/new");
  expect(none).toContain("No subnet yet");
  expect(none).toContain('href="/networks/new"');
});

test("a viewer sees it and can change nothing of it", async () => {
  const path = await createBalancer();
  const vera = await world.signedIn("vera");
  const page = await vera.page(path);
  expect(page).toContain("HTTP 80");
  expect(page).not.toContain(`action="${path}/`);
  expect(page).not.toContain("/listeners/new");
  for (const address of ["/load-balancers/new", `${path}/listeners/new`, `${path}/targets/new`])
    expect((await vera.get(address)).status, address).toBe(403);
});
