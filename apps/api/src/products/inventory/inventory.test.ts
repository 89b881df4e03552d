import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { type SeenVm, seenAs, seenFilterOf, TestScanner } from "../../testing/test-scanner.ts";

let world: ServerWorld;
let testScanner: TestScanner;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world?.close());

/** VMs of earlier tests that are left in the region, unchanged. */
const others: SeenVm[] = [];
let made: SeenVm[] = [];

/** Each test begins with a new scan of its region. */
beforeEach(async () => {
  await world.rows("delete from drift");
  await world.rows("delete from region_vm");
  await world.rows("delete from region_inventory");
  await world.rows("update region set health_at = clock_timestamp()");
  testScanner = new TestScanner(world.agent.api);
  others.push(...made);
  made = [];
});

async function running(): Promise<{ id: string; vm: SeenVm }> {
  const { server } = await world.create();
  const job = await world.agent.take("ServerCreate");
  await world.agent.succeed(job, "on");
  const vm = seenAs(job);
  made.push(vm);
  return { id: server.id, vm };
}

/** A scan that finds these and the VMs of earlier tests. */
async function look(vms: readonly SeenVm[], end: object = {}): Promise<readonly number[]> {
  const { look_for } = await testScanner.look([...others, ...vms], end);
  return look_for;
}

const usageOf = async (id: string) =>
  (await world.rows("select kind from usage_event where resource_id = $1 order by seq", [id])).map(
    ({ kind }) => kind,
  );
const drift = async (): Promise<{ kind: string; vmid: number; differences: { field: string }[] }[]> =>
  (await world.world.operator.get("/operator/drift")).body.items;

test("a guest that powers itself off stops its server, and one that powers on starts it", async () => {
  const { id, vm } = await running();
  await look([vm]);
  expect(await world.server(id)).toMatchObject({
    status: "running",
    power_state: "on",
    observation: "fresh",
    drift: null,
    guest: { agent: true, cloud_init: "done", os: "Debian GNU/Linux 13" },
  });
  await look([{ ...vm, power: "off", guest: { agent: false } }]);
  expect(await world.server(id)).toMatchObject({
    status: "stopped",
    power_state: "off",
    guest: { agent: false, os: "Debian GNU/Linux 13" },
  });
  expect(await usageOf(id)).toEqual(["disk.allocated", "server.started", "server.stopped"]);
  await look([vm]);
  expect(await world.server(id)).toMatchObject({ status: "running", power_state: "on" });
  expect((await usageOf(id)).slice(2)).toEqual(["server.stopped", "server.started"]);
  const audit = await world.rows(
    "select details from audit where action = 'server.observe' and resource = $1",
    [id],
  );
  expect(audit).toHaveLength(2);
});

/** A resize that the region reported as failed without the size of the disk. */
async function failedResize(id: string, to: string): Promise<void> {
  const answer = await world.owned.post(`/servers/${id}/resize`, { package: to, allow_restart: true });
  expect(answer.status).toBe(202);
  await world.agent.fail(await world.agent.take("ServerResize"));
}

test("a disk that has grown unseen is recorded and counted as large as it is, and never as smaller", async () => {
  const { id, vm } = await running();
  await failedResize(id, "xl");
  const disk = async () => (await world.server(id)).disk_gb;
  await look([{ ...vm, disk_bytes: 160 * 2 ** 30 }]);
  expect(await disk()).toBe(160);
  const counted = await world.rows(
    `select e.kind, e.source, s.quantity from usage_event e join usage_segment s on s.opened_by = e.id
      where e.resource_id = $1 and s.ended_at is null order by s.kind`,
    [id],
  );
  const resized = { kind: "server.resized", source: "reconcile" };
  expect(counted).toEqual([
    { ...resized, quantity: { vcpu: 1, memory_mb: 2048 } },
    { ...resized, quantity: { disk_gb: 160 } },
  ]);
  const audit = await world.rows(
    "select details from audit where action = 'server.observe' and resource = $1",
    [id],
  );
  expect(audit).toEqual([{ details: { disk_gb: { from: 40, to: 160 } } }]);
  await look([{ ...vm, disk_bytes: 160 * 2 ** 30 }]);
  expect(await usageOf(id)).toEqual(["disk.allocated", "server.started", "server.resized"]);
  expect(await drift()).toEqual([]);
  // A smaller one is reported, and ignored.
  await look([vm]);
  await look([vm]);
  expect(await disk()).toBe(160);
  expect((await drift()).map(({ differences }) => differences[0]?.field)).toEqual(["disk_gb"]);
  await look([{ ...vm, power: "off", disk_bytes: 200 * 2 ** 30 }]);
  expect((await usageOf(id)).slice(3)).toEqual(["server.resized", "server.stopped"]);
  // For the scans of later tests.
  made = [{ ...vm, power: "off", disk_bytes: 200 * 2 ** 30 }];
});

test("a disk larger than was ordered for the server is reported, and neither recorded nor counted", async () => {
  const { id, vm } = await running();
  for (const disk_bytes of [9_007_199_254_740_991, 641 * 2 ** 30, 640 * 2 ** 30, 41 * 2 ** 30]) {
    await look([{ ...vm, disk_bytes }]);
    await look([{ ...vm, disk_bytes }]);
    expect((await world.server(id)).disk_gb).toBe(40);
    expect(await usageOf(id)).toEqual(["disk.allocated", "server.started"]);
    const [difference] = (await drift()).flatMap(({ differences }) => differences);
    expect(difference).toEqual({
      field: "disk_gb",
      wanted: "40",
      seen: String(Math.floor(disk_bytes / 2 ** 30)),
    });
  }
  const disks = async () =>
    (await world.owned.get(`/usage/segments?resource=${id}&kind=disk`)).body.items.map(
      ({ quantity }: { quantity: object }) => quantity,
    );
  expect(await disks()).toEqual([{ disk_gb: 40 }]);
  // A size that was requested once is accepted; a GB more is not.
  await failedResize(id, "m");
  await look([{ ...vm, disk_bytes: 81 * 2 ** 30 }]);
  expect(await disks()).toEqual([{ disk_gb: 40 }]);
  await look([{ ...vm, disk_bytes: 80 * 2 ** 30 }]);
  expect((await world.server(id)).disk_gb).toBe(80);
  expect(await disks()).toEqual([{ disk_gb: 40 }, { disk_gb: 80 }]);
  made = [...made.filter(({ vmid }) => vmid !== vm.vmid), { ...vm, disk_bytes: 80 * 2 ** 30 }];
});

test("what was seen before the last job ended, or while one is open, changes nothing", async () => {
  const { server } = await world.create();
  const job = await world.agent.take("ServerCreate");
  const vm = seenAs(job);
  made.push({ ...vm, power: "off" });
  // The scan begins while the job runs, and is reported after it has ended.
  const { pass } = await testScanner.begin();
  await world.agent.succeed(job, "on");
  await testScanner.batch(pass ?? 0, 0, { vms: [{ ...vm, power: "off" }] });
  expect(await world.server(server.id)).toMatchObject({ status: "running", power_state: "on" });
  expect(await usageOf(server.id)).toEqual(["disk.allocated", "server.started"]);

  const removed = await world.owned.delete(`/servers/${server.id}`);
  expect(removed.status).toBe(202);
  const before = await world.server(server.id);
  await look([{ ...vm, power: "off" }]);
  const after = await world.server(server.id);
  expect(after).toMatchObject({ status: "pending_deletion", power_state: "on" });
  expect(after.observed_at).toBe(before.observed_at);
  await world.agent.work();
});

test("batches of a former scan change nothing, and one scan begins at a time", async () => {
  const { id, vm } = await running();
  const first = await testScanner.begin();
  const second = await testScanner.begin();
  expect(second.pass).toBe((first.pass ?? 0) + 1);
  const late = await testScanner.batch(first.pass ?? 0, 0, { vms: [{ ...vm, power: "off" }] });
  expect(late.recorded).toBe(false);
  expect((await world.server(id)).power_state).toBe("on");

  const other = new TestScanner(world.agent.api);
  expect((await other.begin()).pass).toBeNull();
  const stolen = await other.batch(second.pass ?? 0, 0, { vms: [{ ...vm, power: "off" }] });
  expect(stolen.recorded).toBe(false);
  expect((await testScanner.batch(second.pass ?? 0, 1, { vms: [{ ...vm, power: "off" }] })).recorded).toBe(
    false,
  );
  expect((await world.server(id)).power_state).toBe("on");
  // An agent that reports nothing more has abandoned its scan.
  await world.rows("update region_inventory set renewed_at = renewed_at - interval '2 minutes'");
  expect((await other.begin()).pass).toBe((second.pass ?? 0) + 1);
});

test("the same batch again changes nothing", async () => {
  const { id, vm } = await running();
  const { pass } = await testScanner.begin();
  const batch = { vms: [{ ...vm, power: "off" }] };
  await testScanner.batch(pass ?? 0, 0, batch);
  expect((await testScanner.batch(pass ?? 0, 0, batch)).recorded).toBe(true);
  expect(await usageOf(id)).toEqual(["disk.allocated", "server.started", "server.stopped"]);
});

test("observed_at is the time of the scan, however late it is reported, and never in the future", async () => {
  const { id, vm } = await running();
  const { pass } = await testScanner.begin();
  await world.rows("update region_inventory set began_at = began_at - interval '20 seconds'");
  await world.rows("update server set observed_at = observed_at - interval '1 hour' where id = $1", [id]);
  await world.rows("update job set finished_at = finished_at - interval '1 hour' where resource_id = $1", [
    id,
  ]);
  await testScanner.batch(pass ?? 0, 0, { vms: [{ ...vm, seen_after_ms: 5_000 }] });
  const [{ age }] = await world.rows(
    "select extract(epoch from clock_timestamp() - observed_at)::float8 as age from server where id = $1",
    [id],
  );
  expect(age).toBeGreaterThan(14.9);
  expect(age).toBeLessThan(20);
  await testScanner.batch(pass ?? 0, 1, { vms: [{ ...vm, seen_after_ms: 86_400_000 }] });
  const [{ ahead }] = await world.rows(
    "select observed_at > clock_timestamp() as ahead from server where id = $1",
    [id],
  );
  expect(ahead).toBe(false);
});

test("a server of a silent region says so, and so does one that was not seen recently", async () => {
  const { id, vm } = await running();
  await look([vm]);
  await world.rows("update region set health_at = clock_timestamp() where slug = $1", [world.region]);
  expect((await world.server(id)).observation).toBe("fresh");
  await world.rows("update region set health_at = clock_timestamp() - interval '61 seconds'");
  expect(await world.server(id)).toMatchObject({
    observation: "stale",
    power_state: "on",
    status: "running",
  });
  await world.rows("update region set health_at = clock_timestamp()");
  await world.rows(
    "update server set observed_at = clock_timestamp() - interval '91 seconds' where id = $1",
    [id],
  );
  expect((await world.server(id)).observation).toBe("stale");
  const { server } = await world.create();
  expect(server.observation).toBe("none");
  await world.agent.fail(await world.agent.take("ServerCreate"));
});

test("a missing VM is reported after a complete scan looked it up by its number", async () => {
  const { id, vm } = await running();
  await look([vm]);
  // Incomplete: a node did not answer.
  await look([], { complete: false });
  expect(await world.server(id)).toMatchObject({ status: "running", drift: null });
  // Not in the list: not yet a proof.
  await look([]);
  expect(await world.server(id)).toMatchObject({ status: "running", drift: null });
  const look_for = await look([]);
  expect(look_for).toContain(vm.vmid);
  expect(await world.server(id)).toMatchObject({
    status: "error",
    status_reason: { code: "vm_missing" },
    power_state: "unknown",
    drift: { kind: "missing" },
  });
  expect((await usageOf(id)).at(-1)).toBe("server.stopped");
  expect(await drift()).toMatchObject([{ kind: "missing", vmid: vm.vmid }]);
  // Nothing was released, and nothing destroyed.
  const jobs = await world.rows("select kind from job where resource_id = $1", [id]);
  expect(jobs).toEqual([{ kind: "ServerCreate" }]);

  await look([vm]);
  expect(await world.server(id)).toMatchObject({
    status: "running",
    status_reason: null,
    power_state: "on",
    drift: null,
  });
  expect(await drift()).toEqual([]);
});

test("a node that does not answer reports nothing about its servers", async () => {
  const { id, vm } = await running();
  await look([vm]);
  const before = await world.server(id);
  await look([{ vmid: vm.vmid, node: "pve1", state: "unanswered", seen_after_ms: 0 }], {
    complete: false,
  });
  expect(await world.server(id)).toEqual(before);
});

test("a changed VM is reported after two scans, and no longer once it matches again", async () => {
  const { id, vm } = await running();
  const [net0] = vm.interfaces ?? [];
  const changed: SeenVm = {
    ...vm,
    name: "renamed",
    vcpu: 7,
    memory_mb: 512,
    disk_bytes: 1,
    tags: [],
    interfaces: [{ position: 0, mac: "0A:00:00:00:00:01", vlan: 4000, bridge: "vmbr9", firewall: false }],
    firewall: { enable: false, macfilter: false, ipfilter: false, ipsets: [] },
  };
  expect(net0?.bridge).toBe("vmbr1");
  await look([changed]);
  expect((await world.server(id)).drift).toBeNull();
  await look([changed]);
  const { drift: told, status } = await world.server(id);
  expect(status).toBe("running");
  expect(told.kind).toBe("changed");
  expect(told.differences.map(({ field }: { field: string }) => field)).toEqual([
    "name",
    "vcpu",
    "memory_mb",
    "disk_gb",
    "tags",
    "interface 0 mac",
    "interface 0 vlan",
    "interface 0 bridge",
    "interface 0 firewall",
    "firewall enable",
    "firewall macfilter",
    "firewall ipfilter",
    "interface 0 addresses",
  ]);
  await look([vm]);
  expect((await world.server(id)).drift).toBeNull();
});

test("manually changed rules are reported until a job has re-applied them, and nothing else corrects them", async () => {
  const { id, vm } = await running();
  const jobs = () =>
    world.rows("select kind from job where resource_id = $1 and kind = 'FirewallApply'", [id]);
  const fields = async (firewall: Partial<NonNullable<SeenVm["firewall"]>>) => {
    if (vm.firewall === undefined) throw new Error("there is no firewall");
    for (let looks = 0; looks < 2; looks += 1)
      await look([{ ...vm, firewall: { ...vm.firewall, ...firewall } }]);
    const { drift: told } = await world.server(id);
    return (told?.differences ?? []) as { field: string; wanted: string; seen: string }[];
  };
  expect(await fields({})).toEqual([]);
  expect(await fields({ rules: 0, rules_digest: "0".repeat(64) })).toEqual([
    { field: "firewall rules", wanted: "2 rules", seen: "0 rules" },
  ]);

  const rules = [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }] }];
  const made = await world.owned.post("/firewalls", { name: "drifting", region: world.region, rules });
  const firewall = `/firewalls/${made.body.firewall.id}`;
  await world.owned.post(`${firewall}/attachments`, { server_id: id });
  // A change that is being applied is not drift.
  const job = await world.agent.take("FirewallApply");
  expect(await fields({})).toEqual([]);
  await world.agent.end(job, { status: "succeeded" });
  const right = seenFilterOf(job.payload);
  expect(await fields(right)).toEqual([]);
  expect(await fields({ ...right, rules_digest: "0".repeat(64) })).toEqual([
    { field: "firewall rules", wanted: "2 rules", seen: "2 rules, others" },
  ]);
  expect(await fields({ ...right, policy_in: "ACCEPT" })).toEqual([
    { field: "firewall policy_in", wanted: "DROP", seen: "ACCEPT" },
  ]);
  expect(await fields({ ...right, policy_out: "DROP" })).toEqual([
    { field: "firewall policy_out", wanted: "ACCEPT", seen: "DROP" },
  ]);
  // An agent that does not report rules says nothing about them.
  const { rules_digest: _, ...silent } = right;
  expect(await fields({ ...silent, rules_digest: undefined as never })).toEqual([]);
  expect(await fields({ ...right, rules: 0, rules_digest: "1".repeat(64) })).toHaveLength(1);
  expect(await jobs()).toHaveLength(1);

  expect((await world.owned.post(`${firewall}/apply`)).status).toBe(202);
  const again = await world.agent.take("FirewallApply");
  expect(again.payload.filter).toEqual(job.payload.filter);
  await world.agent.end(again, { status: "succeeded" });
  expect(await fields(right)).toEqual([]);
  const [attachment] = (await world.owned.get(firewall)).body.attachments;
  await world.owned.delete(`${firewall}/attachments/${attachment.id}`);
  await world.agent.end(await world.agent.take("FirewallApply"), { status: "succeeded" });
  expect(await fields({})).toEqual([]);
});

test("a public interface is wanted where the pool has it, and an unknown interface is reported", async () => {
  const pool = await world.world.operator.post("/ip-pools", {
    region: world.region,
    name: "drift",
    gateway: "100.88.0.1",
    prefix_length: 24,
    vlan: 55,
  });
  await world.world.operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr: "100.88.0.0/28" });
  await world.world.operator.post(`/ip-pools/${pool.body.id}/allocations`, {
    organisation_id: world.organisation.id,
    count: 4,
  });
  const { server } = await world.create({ public_ip: "auto" });
  const job = await world.agent.take("ServerCreate");
  await world.agent.succeed(job, "on");
  const vm = seenAs(job);
  made.push(vm);
  const [inside, outside] = vm.interfaces ?? [];
  if (inside === undefined || outside === undefined) throw new Error("there are no two interfaces");
  const fields = async (interfaces: readonly object[], more: Partial<SeenVm> = {}) => {
    const seen = { ...vm, ...more, interfaces } as SeenVm;
    for (let sighting = 0; sighting < 2; sighting += 1) await look([seen]);
    const { drift: told } = await world.server(server.id);
    return told?.differences.map(({ field }: { field: string }) => field) ?? [];
  };
  expect(outside).toMatchObject({ bridge: "vmbr0", vlan: 55 });
  expect(await fields([inside, outside])).toEqual([]);
  expect(await fields([inside])).toEqual(["interface 1"]);
  expect(await fields([inside, { ...outside, vlan: 10 }])).toEqual(["interface 1 vlan"]);
  expect(await fields([inside, { ...outside, bridge: "vmbr1" }])).toEqual(["interface 1 bridge"]);
  expect(await fields([inside, { ...outside, firewall: false }])).toEqual(["interface 1 firewall"]);
  expect(await fields([inside, outside, { ...inside, position: 3 }])).toEqual(["interface 3"]);
  if (vm.firewall === undefined) throw new Error("there is no firewall");
  const ipsets = vm.firewall.ipsets.map((each) => ({ ...each, addresses: [...each.addresses, "192.0.2.1"] }));
  expect(await fields([inside, outside], { firewall: { ...vm.firewall, ipsets } })).toEqual([
    "interface 0 addresses",
    "interface 1 addresses",
  ]);
  // A failed detach may or may not have removed it: neither is drift.
  const [{ id: ip }] = (await world.server(server.id)).public_ips;
  expect((await world.owned.post(`/public-ips/${ip}/detach`)).status).toBe(202);
  await world.agent.fail(await world.agent.take("PublicIpDetach"));
  expect(await fields([inside])).toEqual([]);
  expect(await fields([inside, outside])).toEqual([]);
});

test("foreign VMs with our numbers and VMs of no server are reported, and not changed", async () => {
  const { vm } = await running();
  const foreign: SeenVm = {
    vmid: 20_900,
    node: "pve2",
    state: "seen",
    seen_after_ms: 0,
    power: "on",
    name: "s",
  };
  const extra: SeenVm = {
    ...vm,
    vmid: 20_901,
    marker: { server_id: "srv_gone", organisation_id: world.organisation.id, region: world.region },
  };
  const outside: SeenVm = { ...foreign, vmid: 777 };
  const elsewhere: SeenVm = {
    ...vm,
    vmid: 20_902,
    marker: { server_id: "srv_1", organisation_id: "org_1", region: "ank1" },
  };
  const all = [vm, foreign, extra, outside, elsewhere];
  await look(all);
  expect(await drift()).toEqual([]);
  await look(all);
  expect((await drift()).map(({ kind, vmid }) => `${kind} ${vmid}`).sort()).toEqual([
    "extra 20901",
    "foreign 20900",
    "foreign 20902",
  ]);
  const filtered = await world.world.operator.get("/operator/drift?kind=extra&region=ist1");
  expect(filtered.body.items).toHaveLength(1);
  await look([vm]);
  expect(await drift()).toEqual([]);
});

test("a server's VM without its marker is reported, and its power does not count as the server's", async () => {
  const { id, vm } = await running();
  const unmarked: SeenVm = { ...vm, marker: null, power: "off" };
  await look([unmarked]);
  await look([unmarked]);
  expect(await world.server(id)).toMatchObject({
    status: "running",
    power_state: "on",
    drift: { kind: "changed", differences: [{ field: "marker", wanted: id, seen: null }] },
  });
});

test("a VM that runs in the removal buffer is stopped again, but not where stopping failed", async () => {
  const { id, vm } = await running();
  await world.owned.delete(`/servers/${id}`);
  await world.agent.work();
  expect(await world.server(id)).toMatchObject({ status: "pending_deletion", power_state: "off" });
  await look([vm]);
  expect(await world.server(id)).toMatchObject({
    status: "pending_deletion",
    power_state: "on",
    deletion: { restores_to: "running" },
  });
  const job = await world.agent.take("ServerStop");
  await look([vm]);
  await world.agent.fail(job);
  await look([vm]);
  expect(await world.agent.claim()).toBeNull();
  expect(await usageOf(id)).not.toContain("disk.released");
});

test("an incomplete report is refused as a whole", async () => {
  const answer = await world.agent.api.post("/agent/inventory", {
    agent_version: "0.1.0",
    agent_run: "00000000",
    vms: [{ vmid: 20_000, node: "pve1", state: "seen", seen_after_ms: 0 }],
  });
  expect(answer.status).toBe(422);
  expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual(["pass", "vms[0].power"]);
});
