import { afterEach, beforeEach, expect, test } from "vitest";
import { formatOf } from "../../messages/format.ts";
import { reportImpossibleTraffic } from "../../testing/load-balancer-states.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { haveRestore } from "../../testing/region-troubles.ts";
import { capacityWith, createSeen, foreignVm, scan } from "../../testing/scans.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { becomeStale } from "../../testing/server-states.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let grace: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  grace = await world.signedIn("grace");
});
afterEach(() => world.stop());

/** From now on the operator acts in Acme Hosting. */
const actInAcme = () =>
  grace.submit("/organisations", "/organisations", { organisation_id: world.facts.acme.id });
const region = () => done(world.real.operator.get("/regions/ist1"));

test("operators open pages of the installation without choosing an organisation; others cannot", async () => {
  const ada = await world.signedIn("ada");
  expect(await ada.page("/servers")).not.toContain('href="/operator"');
  for (const path of [
    "/operator",
    "/operator/regions",
    "/operator/drift",
    "/operator/import",
    "/operator/restore",
    "/ip-pools",
    "/organisations",
  ])
    expect((await grace.get(path)).status, path).toBe(200);
  expect((await grace.get("/servers")).headers.get("location")).toBe("/organisations");
  expect(await grace.page("/operator")).toContain('href="/operator"');
});

test("a region's page has its agent, its templates and its capacity", async () => {
  const { agent } = world.real;
  expect(await grace.page("/operator/regions")).toContain("Has not reported yet");
  await scan(world.real, [], { ...capacityWith(300), complete: false, trouble: "offline: pve3" });
  await done(
    agent.api.post("/agent/health", {
      agent_version: "1.4.2",
      hypervisor: { kind: "proxmox", reachable: false, version: "9.2.1", message: "<b>no route</b>" },
      templates: [
        { image: "debian-13", ok: true },
        { image: "rocky-9", ok: false, message: "VM 9004 is gone" },
      ],
    }),
  );
  const { nodes } = await done(world.real.operator.get("/regions/ist1/capacity"));
  const page = await grace.page("/operator/regions");
  for (const text of ["1.4.2", "does not answer", "&lt;b&gt;no route", "rocky-9", "VM 9004 is gone"])
    expect(page).toContain(text);
  expect(nodes[0].memory_free_mb).toBeGreaterThan(0);
  for (const text of [
    "offline: pve3",
    `${formatOf("en").memory(nodes[0].memory_free_mb)} of 512 GB to give`,
    "Degraded",
  ])
    expect(page).toContain(text);
});

test("a region's page has the traffic of load balancers that its agent reports and that cannot be", async () => {
  expect(await grace.page("/operator/regions")).not.toContain("Impossible traffic");
  const balancer = await reportImpossibleTraffic(world.real);
  const page = await grace.page("/operator/regions");
  for (const text of [
    "Impossible traffic",
    balancer,
    "bytes to clients in",
    "None of it is counted in usage",
  ])
    expect(page).toContain(text);
});

test("maintenance begins and ends with a form", async () => {
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
  expect((await region()).maintenance).toBe(true);
  expect(await grace.page("/operator/regions")).toContain("End maintenance");
  await act("false");
  expect((await region()).maintenance).toBe(false);
});

test("the values of the capacity check are in the address, and a wrong number is an error at its field", async () => {
  const ask = (count: string) =>
    grace.page(`/operator/regions?region=ist1&image=ubuntu-24.04&package=m&count=${count}&organisation=`);
  // Of 4 GB each, on the one node that is not offline or in maintenance.
  await scan(world.real, [], capacityWith(100));
  const no = await ask("90");
  expect(no).toContain("No, there is no room for 90.");
  const [, room = ""] = /It has room for (\d+) of this size in all\./.exec(no) ?? [];
  expect(Number(room)).toBeGreaterThan(5);
  expect(await ask(room)).toContain(`Yes, there is room for ${room}.`);
  const more = String(Number(room) + 1);
  expect(await ask(more)).toContain(`No, there is no room for ${more}.`);
  const wrong = await ask("many");
  expect(wrong).toMatch(/value="many"[^>]*>\s*<p class="problem" id="count-problem">/);
});

test("stuck jobs show the reason, and link to the job in its organisation", async () => {
  expect(await grace.page("/operator/stuck-jobs")).toContain("Nothing is stuck");
  const { acme, agent } = world.real;
  // Its network is made with it.
  await createSeen(world.real, "web-1");
  const body = { region: "ist1", image: "ubuntu-24.04", package: "m" };
  const create = async (name: string) => (await done(acme.post("/servers", { ...body, name }))).job.id;
  const failed = await create("failed-1");
  await agent.end(await agent.take("ServerCreate"), {
    status: "failed",
    error: { code: "template_missing", message: "VM 9004 <is gone>", internal: "exit 255", retryable: false },
  });
  await world.real.sql("update job set attempt = 4 where id = $1", [failed]);
  const waiting = await create("not-claimed-1");
  await world.real.sql("update job set run_at = run_at - interval '20 minutes' where id = $1", [waiting]);
  const { id, name } = world.facts.acme;
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
    return_to: `/jobs/${failed}`,
  });
  expect(opened.headers.get("location")).toBe(`/jobs/${failed}`);
  const ada = await world.signedIn("ada");
  expect((await ada.get("/operator/stuck-jobs")).status).toBe(403);
});

test("drift entries show the difference and link to the server, in its organisation", async () => {
  expect(await grace.page("/operator/drift")).toContain("All regions are as the records say");
  const server = await createSeen(world.real, "web-1");
  await scan(world.real, [server.vm({ vcpu: 9 }), foreignVm(20_090)]);
  const page = await grace.page("/operator/drift");
  for (const text of [String(server.vmid), "20090", "Foreign", "2 is wanted, 9 is there", "Acme Hosting"])
    expect(page).toContain(text);
  expect(page).toContain('href="/operator/import?region=ist1&amp;vmid=20090"');
  expect(await grace.page("/operator/regions")).toContain("2 VMs differ from the records");

  const foreign = await grace.page("/operator/drift?kind=foreign");
  expect(foreign).not.toContain(`>${server.vmid}<`);
  expect(foreign).toContain(">20090<");
  expect(await grace.page("/operator/drift?kind=missing")).toContain("Nothing of this kind");

  const open = (path: string) =>
    grace.submit("/operator/drift", "/organisations", {
      organisation_id: world.facts.acme.id,
      return_to: path,
    });
  const opened = await open(`/servers/${server.id}`);
  expect(opened.headers.get("location")).toBe(`/servers/${server.id}`);
  const elsewhere = await open("//evil.example");
  expect(elsewhere.headers.get("location")).toBe("/servers");
});

test("an import is chosen from the foreign VMs, checked, refused beside its fields, and created", async () => {
  const { acme, agent } = world.real;
  await scan(world.real, [foreignVm(20_090)]);
  const without = await grace.page("/operator/import?region=ist1");
  expect(without).toContain("Acme Hosting has no subnet in ist1 yet");
  const { network } = await done(acme.post("/networks", { name: "default", region: "ist1" }));
  const { subnet } = await done(acme.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }));
  await agent.work();
  const chosen = await grace.page("/operator/import?region=ist1&vmid=20090");
  expect(chosen).toContain('name="name" required="" maxlength="63"');
  expect(chosen).toContain('value="vm-20090"');

  const fields = {
    region: "ist1",
    organisation_id: world.facts.acme.id,
    vmid: "20090",
    other_vmid: "",
    name: "old-web",
    image: "ubuntu-24.04",
    package: "m",
    subnet_id: subnet.id,
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

  await createSeen(world.real, "old-web", { subnet_id: subnet.id });
  const servers = () => world.real.list("/servers");
  const blocked = await (await send({ intent: "check" })).text();
  expect(blocked).toContain("Can&#39;t import yet:");
  expect(blocked).toMatch(/id="name-problem">\s*A server named old-web exists/);
  expect((await send({ intent: "import" })).status).toBe(409);
  expect(await servers()).toHaveLength(1);

  expect(await (await send({ intent: "check", name: "shop" })).text()).toContain("Ready to import.");
  expect(await servers()).toHaveLength(1);
  const made = await send({ intent: "import", name: "shop" });
  const server = (await servers()).find(({ name }) => name === "shop");
  expect(made.headers.get("location")).toBe(`/servers/${server.id}`);
  // From here on in the owning organisation: without one this page redirects.
  expect(await grace.page(`/servers/${server.id}`)).toContain("shop");
});

test("a lock has a reason, which the customer reads; without one it is refused and the input is kept", async () => {
  await actInAcme();
  const server = await createSeen(world.real, "web-1");
  const path = `/operator/servers/${server.id}/lock`;
  expect(await grace.page(`/servers/${server.id}`)).toContain(`href="${path}"`);
  expect(await grace.page(path)).toContain("Not locked");
  const empty = await grace.submit(path, path, { reason: "   " });
  expect(empty.status).toBe(422);
  expect(await empty.text()).toContain('id="reason-problem"');
  await grace.submit(path, path, { reason: "Abuse <4711>" });
  expect(await grace.page(path)).toContain("Locked by Grace Operator");
  const ada = await world.signedIn("ada");
  const seen = await ada.page(`/servers/${server.id}`);
  expect(seen).toContain("Abuse &lt;4711&gt;");
  expect(seen).not.toContain(path);
  await grace.submit(path, `/operator/servers/${server.id}/unlock`, { reason: "Abuse <4711>" });
  expect((await world.real.read(`/servers/${server.id}`)).locked).toBe(null);
});

test("a changed VM can be reconciled from its finding, and a missing one cannot", async () => {
  await actInAcme();
  const server = await createSeen(world.real, "web-1");
  const [nic] = server.vm().interfaces ?? [];
  if (nic === undefined) throw new Error("no interface");
  await scan(world.real, [server.vm({ interfaces: [{ ...nic, vlan: 999 }] })]);
  const path = `/operator/servers/${server.id}/reconcile`;
  expect(await grace.page("/operator/drift")).toContain(`value="${path}"`);
  expect(await grace.page(`/servers/${server.id}`)).toContain(`href="${path}"`);
  const page = await grace.page(path);
  expect(page).toContain("interface 0 vlan");
  expect(page).toContain(`/servers/${server.id}/reconcile`);
  const asked = await grace.submit(path, path, {});
  expect([asked.status, asked.headers.get("location")]).toEqual([303, `/servers/${server.id}`]);
  const [job] = await world.real.list(`/jobs?resource=${server.id}&kind=ServerReconcile`);
  expect(job.kind).toBe("ServerReconcile");
  await world.real.agent.work();

  // What needs a restart is not put right so.
  await scan(world.real, [server.vm({ vcpu: 9 })]);
  expect(await grace.page("/operator/drift")).toContain(String(server.vmid));
  expect(await grace.page("/operator/drift")).not.toContain(path);
  await scan(world.real, []);
  const refused = await grace.submit("/operator/drift", path, {});
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain("no VM of");
  expect(await grace.page(path)).not.toContain(`action="${path}"`);
  const ada = await world.signedIn("ada");
  expect(await ada.page(`/servers/${server.id}`)).not.toContain(path);
});

test("a server's page shows the time of its last observation, its guest's report, and whether it is out of date or changed", async () => {
  const ada = await world.signedIn("ada");
  const server = await createSeen(world.real, "web-1");
  const told = { agent: true, cloud_init: "done", os: "Ubuntu 24.04.1 LTS", hostname: "web-1" } as const;
  const guest = { ...told, addresses: ["10.0.0.5", "fe80::1", "<b>fe80::2</b>"] };
  await scan(world.real, [server.vm({ guest })]);
  await becomeStale(world.real, server.id, 12);
  const fresh = await ada.page(`/servers/${server.id}`);
  expect(fresh).toMatch(/(1[2-9]|[2-5]\d) seconds ago/);
  expect(fresh).toContain("Ubuntu 24.04.1 LTS");
  // The API keeps what is an address, and the panel trusts neither.
  expect(fresh).toMatch(/10\.0\.0\.5, fe80::1\s*</);
  const marked =
    "update server set guest = jsonb_set(guest, '{os}', to_jsonb('<b>Ubuntu'::text)) where id = $1";
  await world.real.sql(marked, [server.id]);
  expect(await ada.page(`/servers/${server.id}`)).toContain("&lt;b&gt;Ubuntu");
  expect(fresh).not.toContain('id="stale-server"');
  await scan(world.real, [server.vm({ memory_mb: 512 })]);
  await becomeStale(world.real, server.id, 600);
  const stale = await ada.page(`/servers/${server.id}`);
  expect(stale).toContain('id="stale-server"');
  expect(stale).toContain("Memory: 4 GB is wanted, 0.5 GB is there");
  expect(stale).not.toContain("memory_mb");
});

test("the jobs of all organisations are listed, filtered, and link into their organisation", async () => {
  const empty = await grace.page("/operator/jobs?status=cancelled");
  expect(empty).toContain("No such jobs");
  const ada = await world.signedIn("ada");
  const made = { name: "web-1", region: "ist1", image: "ubuntu-24.04", package: "s", intent: "create" };
  await ada.submit("/servers/new", "/servers/new", made);
  const page = await grace.page("/operator/jobs");
  const [job] = await world.real.list("/jobs?kind=ServerCreate");
  for (const text of [`id="${job.id}"`, "web-1", `value="/jobs/${job.id}"`]) expect(page).toContain(text);
  expect(await grace.page("/operator/jobs?region=ank1")).toContain("No such jobs");
  expect((await ada.get("/operator/jobs")).status).toBe(403);
});

test("after a restore the page says what a region waits for, and an operator goes on there", async () => {
  expect(await grace.page("/operator/restore")).toContain("The database was never restored from a backup");
  await haveRestore(world.real);
  const page = await grace.page("/operator/restore");
  for (const text of [
    "Waits for a scan",
    "Scanned",
    "60011",
    "which the records have for srv_1",
    'href="/operator/import?region=old2&amp;vmid=60011"',
  ])
    expect(page).toContain(text);
  const accepted = await grace.submit("/operator/restore", "/operator/restore/old1", { what: "accept" });
  expect(accepted.headers.get("location")).toBe("/operator/restore?notice=accepted");
  const ended = await grace.submit("/operator/restore", "/operator/restore/old2", { what: "end" });
  expect(ended.headers.get("location")).toBe("/operator/restore?notice=ended");
  const { regions } = await done(world.real.operator.get("/operator/restore"));
  expect(regions).toMatchObject([
    { region: "old1", state: "waiting", accepts_incomplete_scan: true },
    { region: "old2", state: "ended" },
  ]);
  const early = await grace.submit("/operator/restore", "/operator/restore/old1", { what: "end" });
  expect(early.status).toBe(409);
  expect(await early.text()).toContain("was not scanned since the restore");
});
