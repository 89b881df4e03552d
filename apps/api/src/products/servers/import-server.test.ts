import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { type SeenVm, TestScanner } from "../../testing/test-scanner.ts";

let world: ServerWorld;
let operator: ApiCaller;
let subnet: string;
let testScanner: TestScanner;
beforeAll(async () => {
  world = await ServerWorld.open();
  operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
  const { server } = await world.create();
  subnet = server.interfaces[0].subnet_id;
  testScanner = new TestScanner(world.agent.api);
  await world.agent.work();
});
afterAll(() => world?.close());

let named = 0;
const body = (vmid: number, more: object = {}) => {
  named += 1;
  return {
    name: `moved-${named}`,
    region: world.region,
    vmid,
    image: "debian-13",
    package: "s",
    subnet_id: subnet,
    ...more,
  };
};
const stranger = (vmid: number, more: Partial<SeenVm> = {}): SeenVm => ({
  vmid,
  node: "pve1",
  state: "seen",
  seen_after_ms: 0,
  power: "on",
  name: "old",
  ...more,
});

test("an existing VM becomes a server with its number, its address and its own MAC", async () => {
  const answer = await operator.post("/servers/import", body(20_800, { private_ip: "10.0.0.77" }));
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  const { server } = answer.body;
  expect(server).toMatchObject({ status: "creating", protection: { delete: true } });
  const job = await world.agent.take("ServerAdopt");
  expect(job.payload).toMatchObject({
    vmid: 20_800,
    server: { id: server.id },
    tags: ["kule", world.organisation.id, server.id],
  });
  await world.agent.end(job, {
    status: "succeeded",
    observed: { power_state: "on", node: "pve2", macs: ["BC:24:11:AA:BB:CC"] } as never,
  });
  const done = await world.server(server.id);
  expect(done).toMatchObject({ status: "running", power_state: "on" });
  expect(done.interfaces).toMatchObject([{ private_ip: "10.0.0.77", mac: "bc:24:11:aa:bb:cc" }]);
  const usage = await world.rows("select kind from usage_event where resource_id = $1 order by seq", [
    server.id,
  ]);
  expect(usage.map(({ kind }) => kind)).toEqual(["disk.allocated", "server.started"]);
});

test("only operators import, and only into the region's own numbers", async () => {
  const refused = await world.owned.post("/servers/import", body(20_801));
  expect(refused.status).toBe(403);
  const outside = await operator.post("/servers/import", body(777, { package: "none" }));
  expect(outside.status).toBe(422);
  expect(outside.body.errors.map(({ field }: { field: string }) => field).sort()).toEqual([
    "package",
    "vmid",
  ]);
});

test("a number or a name that a server has, or a number that one had recently, is refused", async () => {
  const [{ vmid }] = await world.rows(
    "select vmid from region_vmid where state = 'used' order by vmid limit 1",
  );
  const used = await operator.post("/servers/import", body(vmid));
  expect(used.body).toMatchObject({ code: "in_use", precondition: { name: "vmid_free" } });
  await world.rows(
    "update region_vmid set state = 'tombstone', free_after = now() + interval '1 day' where vmid = 20900",
  );
  expect((await operator.post("/servers/import", body(20_900))).body.code).toBe("in_use");
  const named = await operator.post("/servers/import", body(20_802, { name: "moved-1" }));
  expect(named.body.code).toBe("name_taken");
  const both = await operator.post("/servers/import?dry_run=true", body(20_900, { name: "moved-1" }));
  expect(both.body.blockers.map(({ code }: { code: string }) => code)).toEqual(["name_taken", "in_use"]);
});

test("what the last scan saw decides at once: marked, a template, a container", async () => {
  const marker = { server_id: "srv_x", organisation_id: "org_x", region: world.region };
  await testScanner.look([
    stranger(20_810),
    stranger(20_811, { marker }),
    stranger(20_812, { template: true }),
    stranger(20_813, { type: "lxc" }),
  ]);
  for (const vmid of [20_811, 20_812, 20_813]) {
    const refused = await operator.post("/servers/import", body(vmid));
    expect(refused.body, String(vmid)).toMatchObject({ code: "vm_not_importable" });
  }
  expect((await operator.post("/servers/import", body(20_810))).status).toBe(202);
  await world.agent.succeed(await world.agent.take("ServerAdopt"), "off");
});

test("a VM is adopted with its observed disk, against the quota of its organisation", async () => {
  await testScanner.look([
    stranger(20_825, { disk_bytes: 100 * 2 ** 30 }),
    stranger(20_826, { disk_bytes: 2 ** 52 }),
  ]);
  const taken = await operator.post("/servers/import", body(20_825));
  expect(taken.status, JSON.stringify(taken.body)).toBe(202);
  await world.agent.succeed(await world.agent.take("ServerAdopt"), "on");
  expect((await world.server(taken.body.server.id)).disk_gb).toBe(100);
  const counted = await world.rows(
    "select quantity from usage_segment where resource_id = $1 and kind = 'disk'",
    [taken.body.server.id],
  );
  expect(counted).toEqual([{ quantity: { disk_gb: 100 } }]);
  const impossible = await operator.post("/servers/import", body(20_826));
  await world.agent.succeed(await world.agent.take("ServerAdopt"), "on");
  expect((await world.server(impossible.body.server.id)).disk_gb).toBe(40);
});

test("a number without a VM is refused before there is a job, and accepted once its VM was seen", async () => {
  await testScanner.look([stranger(20_815)]);
  const refused = await operator.post("/servers/import", body(20_816));
  expect(refused).toMatchObject({
    status: 409,
    body: { code: "vm_not_importable", precondition: { name: "vm_importable" } },
  });
  expect(await world.agent.claim()).toBeNull();
  await testScanner.look([stranger(20_815), stranger(20_816)]);
  expect((await operator.post("/servers/import", body(20_816))).status).toBe(202);
  await world.agent.succeed(await world.agent.take("ServerAdopt"), "off");
  await world.rows("delete from region_vm");
  await world.rows("delete from region_inventory");
});

test("an import that failed is deleted without a change of the VM", async () => {
  await world.rows("delete from region_vm");
  await world.rows("delete from region_inventory");
  const { server } = (await operator.post("/servers/import", body(20_820))).body;
  await world.agent.fail(await world.agent.take("ServerAdopt"), "vm_not_importable");
  expect(await world.server(server.id)).toMatchObject({
    status: "error",
    status_reason: { code: "import_failed" },
  });
  await world.owned.patch(`/servers/${server.id}`, { protection: { delete: false } });
  expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
  const stop = await world.agent.take("ServerStop");
  expect(stop.payload).toMatchObject({ taken_over: false });
  await world.agent.succeed(stop, "off");
  await world.passBuffer(server.id);
});

/** Imports a VM with this MAC, up to the end of its job, and returns the answer to its report. */
async function importWith(vmid: number, mac: string) {
  const { server } = (await operator.post("/servers/import", body(vmid))).body;
  const job = await world.agent.take("ServerAdopt");
  const outcome = { status: "succeeded", observed: { power_state: "on", macs: [mac] } };
  return {
    server: server.id as string,
    end: () => world.agent.report(job, { phase: "verify", outcome }),
    mac: async () => (await world.server(server.id)).interfaces[0].mac,
  };
}

test("a MAC that another interface has, of whichever organisation, stays with it", async () => {
  const other = await world.world.addOrganisation("neighbour");
  const { server } = await world.create({}, other.owner);
  await world.agent.work();
  const theirs = (await other.owner.get(`/servers/${server.id}`)).body.interfaces[0].mac;
  const imported = await importWith(20_830, theirs);
  expect((await imported.end()).status).toBe(200);
  expect(await world.server(imported.server)).toMatchObject({ status: "running" });
  expect(await imported.mac()).not.toBe(theirs);
});

test("of two concurrent imports with one MAC one gets it, and neither is answered an error", async () => {
  const mac = "bc:24:11:00:00:31";
  const [nic] = await world.rows("select id, mac::text as mac from nic order by id limit 1");
  const imported = await importWith(20_831, mac);
  const rival = await world.owner.connect();
  try {
    await rival.query("begin");
    await rival.query("update nic set mac = $1 where id = $2", [mac, nic.id]);
    const ended = imported.end();
    // It waits for the other transaction, whose MAC is not visible yet.
    await expect
      .poll(
        async () => (await world.rows("select count(*)::integer as n from pg_locks where not granted"))[0].n,
      )
      .toBeGreaterThan(0);
    await rival.query("commit");
    expect((await ended).status).toBe(200);
  } finally {
    await rival.query("rollback");
    rival.release();
  }
  expect(await world.server(imported.server)).toMatchObject({ status: "running" });
  expect(await imported.mac()).not.toBe(mac);
  await world.rows("update nic set mac = $1 where id = $2", [nic.mac, nic.id]);
});
