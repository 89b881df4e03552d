import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeNetwork, fakeServer, fakeSubnet } from "../../testing/fake-records.ts";
import { fakeDrift, fakeStuckJob } from "../../testing/fake-regions.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let visitor: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  visitor = new Visitor(world);
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

async function operator(): Promise<Visitor> {
  return new Visitor(world).signIn("grace@example.org", "keeps it running");
}

/** Creates a network with a subnet for further resources. */
function seedSubnet(): string {
  const network = fakeNetwork({ name: "default", region: "ist1" }, true);
  const subnet = fakeSubnet({ name: "app", tier: "app" }, network);
  network.subnets = [{ id: subnet.id, name: subnet.name, tier: subnet.tier, cidr: subnet.cidr }];
  world.api.state.networks.push(network);
  world.api.state.subnets.push(subnet);
  return subnet.id;
}

test("operators open pages of the installation without choosing an organisation; others cannot", async () => {
  await visitor.signIn();
  expect(await visitor.page("/servers")).not.toContain('href="/operator"');
  const grace = await operator();
  for (const path of [
    "/operator",
    "/operator/regions",
    "/operator/drift",
    "/operator/import",
    "/ip-pools",
    "/organisations",
  ])
    expect((await grace.get(path)).status, path).toBe(200);
  expect((await grace.get("/servers")).headers.get("location")).toBe("/organisations");
  expect(await grace.page("/operator")).toContain('href="/operator"');
});

test("a region's page has its agent, its templates and its capacity", async () => {
  const [region] = world.api.state.regions;
  if (region === undefined) throw new Error("no region");
  const grace = await operator();
  expect(await grace.page("/operator/regions")).toContain("Has not reported yet");
  Object.assign(region, {
    agent: {
      version: "1.4.2",
      reported_at: new Date().toISOString(),
      hypervisor: { kind: "proxmox", reachable: false, version: "9.2.1", message: "<b>no route</b>" },
      templates: [
        { image: "debian-12", ok: true },
        { image: "rocky-9", ok: false, message: "VM 9004 is gone" },
      ],
    },
    status: "degraded",
  });
  const page = await grace.page("/operator/regions");
  for (const text of ["1.4.2", "does not answer", "&lt;b&gt;no route", "rocky-9", "VM 9004 is gone"])
    expect(page).toContain(text);
  for (const text of ["offline: pve3", "256 GB of 512 GB to give", "Degraded"]) expect(page).toContain(text);
});

test("maintenance begins and ends with a form", async () => {
  const grace = await operator();
  const act = (maintenance: string) =>
    grace.submit("/operator/regions", "/operator/regions/ist1/maintenance", { maintenance });
  const before = await grace.page("/operator/regions");
  const question = before.slice(before.indexOf("Begin maintenance of"));
  expect(before).toMatch(/<details[^>]*id="maintenance-ist1"/);
  for (const text of ["Servers keep running", "Queued jobs wait", "Nobody can create a server here"])
    expect(question).toContain(text);
  // The button that starts it is behind the confirmation.
  expect(before.replaceAll(/<details[\s\S]*?<\/details>/g, "")).not.toContain('name="maintenance"');
  expect((await act("true")).headers.get("location")).toBe("/operator/regions?notice=maintenanceOn");
  expect(world.api.state.regions[0]?.maintenance).toBe(true);
  expect(await grace.page("/operator/regions")).toContain("End maintenance");
  await act("false");
  expect(world.api.state.regions[0]?.maintenance).toBe(false);
});

test("the values of the capacity check are in the address, and a wrong number is an error at its field", async () => {
  const grace = await operator();
  const ask = (count: string) =>
    grace.page(`/operator/regions?region=ist1&image=ubuntu-24.04&package=m&count=${count}&organisation=`);
  expect(await ask("7")).toContain("Yes, there is room for 7.");
  const no = await ask("8");
  expect(no).toContain("No, there is no room for 8.");
  expect(no).toContain("It has room for 7 of this size in all.");
  const wrong = await ask("many");
  expect(wrong).toMatch(/value="many"[^>]*>\s*<p class="problem" id="count-problem">/);
});

test("stuck jobs show the reason, and link to the job in its organisation", async () => {
  const grace = await operator();
  expect(await grace.page("/operator/stuck-jobs")).toContain("Nothing is stuck");
  const [organisation] = world.api.state.organisations;
  if (organisation === undefined) throw new Error("no organisation");
  const { id, name } = organisation;
  const failed = fakeStuckJob("failed", { id, name });
  world.api.state.stuckJobs.push(failed, fakeStuckJob("not_claimed", { id, name }));
  const page = await grace.page("/operator/stuck-jobs");
  for (const text of [
    "failed-1",
    "not-claimed-1",
    name,
    "VM 9004 &lt;is gone&gt;",
    "Attempt 4 of 8",
    "no agent of the region has claimed it",
  ])
    expect(page).toContain(text);
  const onlyFailed = await grace.page("/operator/stuck-jobs?reason=failed&region=ist1");
  expect(onlyFailed).not.toContain("not-claimed-1");
  expect(onlyFailed).toContain("/operator/stuck-jobs?region=ist1&amp;reason=failed");
  expect(await grace.page("/operator/stuck-jobs?reason=slow")).toContain("Nothing is stuck in this way");
  const opened = await grace.submit("/operator/stuck-jobs", "/organisations", {
    organisation_id: id,
    return_to: `/jobs/${failed.id}`,
  });
  expect(opened.headers.get("location")).toBe(`/jobs/${failed.id}`);
  await visitor.signIn();
  expect((await visitor.get("/operator/stuck-jobs")).status).toBe(403);
});

test("drift entries show the difference and link to the server, in its organisation", async () => {
  const grace = await operator();
  expect(await grace.page("/operator/drift")).toContain("All regions are as the records say");
  const [organisation] = world.api.state.organisations;
  const changed = { ...fakeDrift("changed", 20_007), organisation_id: organisation?.id ?? null };
  world.api.state.drift.push(changed, fakeDrift("foreign", 20_900));
  const page = await grace.page("/operator/drift");
  for (const text of ["20007", "20900", "Foreign", "2 is wanted, 9 is there", "Acme Hosting"])
    expect(page).toContain(text);
  expect(page).toContain('href="/operator/import?region=ist1&amp;vmid=20900"');
  expect(await grace.page("/operator/regions")).toContain("2 VMs differ from the records");

  const foreign = await grace.page("/operator/drift?kind=foreign");
  expect(foreign).not.toContain("20007");
  expect(await grace.page("/operator/drift?kind=missing")).toContain("Nothing of this kind");

  const opened = await grace.submit("/operator/drift", "/organisations", {
    organisation_id: organisation?.id ?? "",
    return_to: `/servers/${changed.server_id}`,
  });
  expect(opened.headers.get("location")).toBe(`/servers/${changed.server_id}`);
  const elsewhere = await grace.submit("/operator/drift", "/organisations", {
    organisation_id: organisation?.id ?? "",
    return_to: "//evil.example",
  });
  expect(elsewhere.headers.get("location")).toBe("/servers");
});

test("an import is chosen from the foreign VMs, checked, refused beside its fields, and created", async () => {
  const grace = await operator();
  const [organisation] = world.api.state.organisations;
  world.api.state.drift.push(fakeDrift("foreign", 20_900));
  const without = await grace.page("/operator/import");
  expect(without).toContain("Acme Hosting has no subnet in ist1 yet");
  const subnet = seedSubnet();
  expect(await grace.page("/operator/import?vmid=20900")).toContain('name="name" required="" maxlength="63"');
  expect(await grace.page("/operator/import?vmid=20900")).toContain('value="vm-20900"');

  const fields = {
    region: "ist1",
    organisation_id: organisation?.id ?? "",
    vmid: "20900",
    other_vmid: "",
    name: "old-web",
    image: "ubuntu-24.04",
    package: "m",
    subnet_id: subnet,
    private_ip: "",
  };
  const send = async (change: Record<string, string>) =>
    grace.submit("/operator/import", "/operator/import", { ...fields, ...change });
  const wrong = await send({ intent: "check", vmid: "other", other_vmid: "123" });
  expect(wrong.status).toBe(422);
  const page = await wrong.text();
  expect(page).toMatch(/id="vmid-problem">\s*Must be one of the region&#39;s VM numbers/);
  expect(page).toContain('value="123"');
  expect(page).toContain('value="old-web"');

  world.api.state.servers.push(
    fakeServer(
      { name: "old-web", image: "ubuntu-24.04", package: "m" },
      fakeNetwork({ name: "default", region: "ist1" }, true),
      0,
    ),
  );
  const blocked = await (await send({ intent: "check" })).text();
  expect(blocked).toContain("Can&#39;t import yet:");
  expect(blocked).toMatch(/id="name-problem">\s*A server named old-web exists/);
  expect((await send({ intent: "import" })).status).toBe(409);
  expect(world.api.state.servers).toHaveLength(1);

  expect(await (await send({ intent: "check", name: "shop" })).text()).toContain("Ready to import.");
  expect(world.api.state.servers).toHaveLength(1);
  const made = await send({ intent: "import", name: "shop" });
  const server = world.api.state.servers[1];
  expect(made.headers.get("location")).toBe(`/servers/${server?.id}`);
  // From here on in the owning organisation: without one this page redirects.
  expect(await grace.page(`/servers/${server?.id}`)).toContain("shop");
});

test("a lock has a reason, which the customer reads; without one it is refused and the input is kept", async () => {
  const grace = await operator();
  await grace.submit("/organisations", "/organisations", {
    organisation_id: world.api.state.organisations[0]?.id ?? "",
  });
  const server = fakeServer(
    { name: "web-1", image: "ubuntu-24.04", package: "m" },
    fakeNetwork({ name: "default", region: "ist1" }, true),
    0,
  );
  world.api.state.servers.push(server);
  const path = `/operator/servers/${server.id}/lock`;
  expect(await grace.page(`/servers/${server.id}`)).toContain(`href="${path}"`);
  expect(await grace.page(path)).toContain("Not locked");
  const empty = await grace.submit(path, path, { reason: "   " });
  expect(empty.status).toBe(422);
  expect(await empty.text()).toContain('id="reason-problem"');
  await grace.submit(path, path, { reason: "Abuse <4711>" });
  expect(await grace.page(path)).toContain("Locked by Grace Operator");
  await visitor.signIn();
  const seen = await visitor.page(`/servers/${server.id}`);
  expect(seen).toContain("Abuse &lt;4711&gt;");
  expect(seen).not.toContain(path);
  await grace.submit(path, `/operator/servers/${server.id}/unlock`, { reason: "Abuse <4711>" });
  expect(world.api.state.server(server.id)?.locked).toBe(null);
});

test("a changed VM can be reconciled from its finding, and a missing one cannot", async () => {
  const grace = await operator();
  await grace.submit("/organisations", "/organisations", {
    organisation_id: world.api.state.organisations[0]?.id ?? "",
  });
  const server = fakeServer(
    { name: "web-1", image: "ubuntu-24.04", package: "m" },
    fakeNetwork({ name: "default", region: "ist1" }, true),
    0,
  );
  const since = new Date().toISOString();
  const differences = [{ field: "interface 0 vlan", wanted: "120", seen: "999" }];
  world.api.state.servers.push({ ...server, drift: { kind: "changed", since, differences } });
  const told = { ...fakeDrift("changed", 20_001), server_id: server.id, differences };
  world.api.state.drift.push(told);
  const path = `/operator/servers/${server.id}/reconcile`;
  expect(await grace.page("/operator/drift")).toContain(`value="${path}"`);
  expect(await grace.page(`/servers/${server.id}`)).toContain(`href="${path}"`);
  const page = await grace.page(path);
  expect(page).toContain("interface 0 vlan");
  expect(page).toContain(`/servers/${server.id}/reconcile`);
  const done = await grace.submit(path, path, {});
  expect([done.status, done.headers.get("location")]).toEqual([303, `/servers/${server.id}`]);
  expect(world.api.state.jobs[0]?.kind).toBe("ServerReconcile");
  world.api.state.changeServer(server.id, { drift: { kind: "missing", since, differences: [] } });
  const refused = await grace.submit("/operator/drift", path, {});
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain("no VM of");
  expect(await grace.page(path)).not.toContain(`action="${path}"`);
  world.api.state.drift.splice(0, Number.POSITIVE_INFINITY, {
    ...told,
    differences: [{ ...differences[0], field: "vcpu" }] as never,
  });
  expect(await grace.page("/operator/drift")).not.toContain(path);
  await visitor.signIn();
  expect(await visitor.page(`/servers/${server.id}`)).not.toContain(path);
});

test("a server's page shows the time of its last observation, its guest's report, and whether it is out of date or changed", async () => {
  await visitor.signIn();
  const network = fakeNetwork({ name: "default", region: "ist1" }, true);
  const server = fakeServer({ name: "web-1", image: "ubuntu-24.04", package: "m" }, network, 0);
  world.api.state.servers.push({
    ...server,
    status: "running",
    power_state: "on",
    observed_at: new Date(Date.now() - 12_000).toISOString(),
    guest: {
      agent: true,
      cloud_init: "done",
      os: "Ubuntu 24.04.1 LTS",
      hostname: "web-1",
      addresses: ["10.0.0.5", "<b>fe80::1</b>"],
      boot_at: null,
    },
  });
  const fresh = await visitor.page(`/servers/${server.id}`);
  expect(fresh).toMatch(/1[2-9] seconds ago/);
  expect(fresh).toContain("Ubuntu 24.04.1 LTS");
  expect(fresh).toContain("10.0.0.5, &lt;b&gt;fe80::1");
  expect(fresh).not.toContain('id="stale-server"');
  world.api.state.changeServer(server.id, {
    observation: "stale",
    drift: {
      kind: "changed",
      since: new Date().toISOString(),
      differences: [{ field: "memory_mb", wanted: "4096", seen: "512" }],
    },
  });
  const stale = await visitor.page(`/servers/${server.id}`);
  expect(stale).toContain('id="stale-server"');
  expect(stale).toContain("Memory: 4 GB is wanted, 0.5 GB is there");
  expect(stale).not.toContain("memory_mb");
});

test("the jobs of all organisations are listed, filtered, and link into their organisation", async () => {
  const grace = await operator();
  const empty = await grace.page("/operator/jobs?status=cancelled");
  expect(empty).toContain("No such jobs");
  const ada = await new Visitor(world).signIn();
  const made = { name: "web-1", region: "ist1", image: "ubuntu-24.04", package: "s", intent: "create" };
  await ada.submit("/servers/new", "/servers/new", made);
  const page = await grace.page("/operator/jobs");
  const [job] = world.api.state.jobs;
  for (const text of [
    `id="${job?.id}"`,
    job?.resource.name ?? job?.resource.id ?? "",
    `value="/jobs/${job?.id}"`,
  ])
    expect(page).toContain(text);
  expect(await grace.page("/operator/jobs?region=ank1")).toContain("No such jobs");
  expect((await ada.get("/operator/jobs")).status).toBe(403);
});
