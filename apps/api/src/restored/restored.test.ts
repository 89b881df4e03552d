import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../platform/database.ts";
import { newId } from "../platform/ids.ts";
import { jobHandlers } from "../products/job-handlers.ts";
import { registerRegionMetrics } from "../products/regions/index.ts";
import type { Answer } from "../testing/api-caller.ts";
import { ServerWorld } from "../testing/server-world.ts";
import { TestAgent } from "../testing/test-agent.ts";
import { type SeenVm, seenAs, TestScanner } from "../testing/test-scanner.ts";
import { expireRemovalBuffer, sweepRemovalBuffers } from "../worker/expire-removal-buffer.ts";
import { type MarkedRestore, markRestored } from "./mark-restored.ts";

/*
 * The database of a running world is taken for a restored backup: the scans report VMs that the records do not have, as
 * those that were made after the moment of the backup.
 */

let world: ServerWorld;
let scanner: TestScanner;
let marked: MarkedRestore;
/** The VMs that are there, by what made them. */
const there: Record<string, SeenVm> = {};
const ids: Record<string, string> = {};
let heldJob: Awaited<ReturnType<typeof takeRebuild>>;
const takeRebuild = () => world.agent.take("ServerRebuild");
let poolId: string;
let keyId: string;
let reservedIp: { id: string; address: string };

beforeAll(async () => {
  world = await ServerWorld.open({ removalBufferSeconds: 3_600 });
  await world.agent.api.post("/agent/health", {
    agent_version: "0.1.0",
    hypervisor: { kind: "proxmox", reachable: true },
  });
  await addPool();
  const key = await world.owned.post("/ssh-keys", {
    name: "ada",
    public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop",
  });
  keyId = key.body.id;
  for (const name of ["steady", "buffered", "doomed", "rebuilt"]) await addServer(name);
  const reserved = await world.owned.post("/public-ips", { region: world.region });
  reservedIp = reserved.body;
  await world.owned.delete(`/servers/${ids.buffered}`);
  await world.agent.work();
  await world.owned.delete(`/servers/${ids.doomed}`);
  await world.agent.work();
  // One job is held by an agent that goes on after the restore.
  const rebuilt = await world.owned.post(`/servers/${ids.rebuilt}/rebuild`, {
    image: "debian-13",
    confirm_name: "rebuilt",
  });
  expect(rebuilt.status, JSON.stringify(rebuilt.body)).toBe(202);
  heldJob = await takeRebuild();
  await world.agent.report(heldJob, { phase: "apply", irreversible: true });
  await world.passBuffer(ids.doomed ?? "");
  await expireRemovalBuffer(world.world.replica.deps, world.organisation.id, ids.doomed ?? "");
  marked = await restore();
  scanner = new TestScanner(world.agent.api);
}, 120_000);
afterAll(() => world?.close());

async function restore(endsTokens = false): Promise<MarkedRestore> {
  const { db, close } = openDatabase({
    url: world.world.database.ownerUrl,
    poolSize: 2,
    guardTenants: false,
  });
  try {
    const { settings } = world.world.replica.deps;
    return await markRestored(db, { handlers: jobHandlers, settings, endsTokens });
  } finally {
    await close();
  }
}

async function addServer(name: string): Promise<void> {
  const { server } = await world.create({ name, ssh_key_ids: [keyId] });
  const job = await world.agent.take("ServerCreate");
  await world.agent.succeed(job, "on");
  there[name] = seenAs(job);
  ids[name] = server.id;
}

async function addPool(): Promise<void> {
  const { operator } = world.world;
  const pool = await operator.post("/ip-pools", {
    region: world.region,
    name: "public",
    gateway: "203.0.113.1",
    prefix_length: 24,
  });
  poolId = pool.body.id;
  await operator.post(`/ip-pools/${poolId}/ranges`, { cidr: "203.0.113.0/27" });
  const allocated = await operator.post(`/ip-pools/${poolId}/allocations`, {
    organisation_id: world.organisation.id,
    count: 11,
  });
  expect(allocated.status, JSON.stringify(allocated.body)).toBeLessThan(300);
}

/** A VM of a server that was created after the moment of the backup: the records do not have it. */
function lostVm(vmid: number, more: { address: string; vlan?: number; public?: string }): SeenVm {
  const { steady } = there;
  if (steady === undefined) throw new Error("the world is not there yet");
  const [inside] = steady.interfaces ?? [];
  const server_id = newId("srv");
  return {
    ...steady,
    vmid,
    name: `lost-${vmid}`,
    marker: { server_id, organisation_id: world.organisation.id, region: world.region },
    tags: ["kule", world.organisation.id, server_id],
    interfaces: [
      {
        position: 0,
        mac: "BC:24:11:00:99:01",
        bridge: "vmbr1",
        firewall: true,
        vlan: more.vlan ?? inside?.vlan ?? null,
      },
      ...(more.public === undefined
        ? []
        : [{ position: 1, mac: "BC:24:11:00:99:02", bridge: "vmbr0", firewall: true, vlan: 10 }]),
    ],
    firewall: {
      ...(steady.firewall as NonNullable<SeenVm["firewall"]>),
      ipsets: [
        { name: "ipfilter-net0", addresses: [more.address] },
        ...(more.public === undefined ? [] : [{ name: "ipfilter-net1", addresses: [more.public] }]),
      ],
    },
  };
}

/** What the records contradict of themselves: that the region differs is what these tests are about. */
const recordViolations = async () =>
  (await world.violations()).filter(({ check }) => !check.endsWith("as its region was seen"));

/** The states of the region's restore that the metrics show. */
async function openRestore(): Promise<string[]> {
  const { metrics } = world.world.replica.deps;
  const gauge = metrics.registry.getSingleMetric("kule_region_restore_open");
  if (gauge === undefined) registerRegionMetrics(world.world.replica.deps);
  const text = await metrics.registry.metrics();
  const shown = new RegExp(`^kule_region_restore_open\\{region="${world.region}",state="(\\w+)"\\} 1$`, "gm");
  return [...text.matchAll(shown)].map(([, state = ""]) => state);
}

const lost: Record<string, SeenVm> = {};
const all = () => [...Object.values(there), ...Object.values(lost)];
const state = async (): Promise<Answer["body"]> => (await world.world.operator.get("/operator/restore")).body;
const held = async (): Promise<Answer["body"][]> =>
  (await world.world.operator.get("/operator/held-vms?limit=200")).body.items;
const inWords = (vm: { held: { kind: string; value: string }[] } | undefined) =>
  vm?.held.map(({ kind, value }) => `${kind} ${value}`).sort();
const vmidOf = async (server: string): Promise<number> =>
  (await world.rows("select vmid from region_vmid where server_id = $1", [server]))[0]?.vmid;

describe("before the region was scanned", () => {
  test("everything that allocates is refused, with the way out", async () => {
    const subnet = (await world.server(ids.steady ?? "")).interfaces[0].subnet_id;
    const network = (await world.owned.get("/networks")).body.items[0].id;
    const refused: [string, Answer][] = [
      ["a server", await world.owned.post("/servers", world.body())],
      ["a public IP", await world.owned.post("/public-ips", { region: world.region })],
      [
        "a reservation",
        await world.owned.post(`/networks/${network}/subnets/${subnet}/reservations`, { name: "kept" }),
      ],
      ["a VLAN", await world.owned.post("/networks", { name: "later", region: world.region })],
    ];
    const subnets = await world.owned.post(`/networks/${network}/subnets`, { name: "more", tier: "app" });
    refused.push(["a subnet", subnets]);
    for (const [what, { status, body }] of refused.filter(
      ([, { status: code }]) => code !== 201 && code !== 202,
    ))
      expect({ what, status, code: body.code, name: body.precondition?.name }).toEqual({
        what,
        status: 409,
        code: "region_unavailable",
        name: "region_scanned",
      });
    // A network without a subnet has no VLAN yet.
    expect(refused.filter(([, { status }]) => status < 300).map(([what]) => what)).not.toContain("a server");
    const dry = await world.owned.post("/servers?dry_run=true", world.body());
    expect(dry.body.blockers.map(({ name }: { name: string }) => name)).toContain("region_scanned");
  });

  test("no job is handed out, and whoever held one holds nothing", async () => {
    expect(await world.agent.claim()).toBeNull();
    const stale = await new TestAgent(world.agent.api).reportAs(heldJob, 5, { phase: "apply" });
    expect(stale.status).toBe(409);
    expect(stale.body.code).toBe("stale_lease");
  });

  test("a rebuild that was under way is not done again, and its server is usable", async () => {
    const [job] = (await world.owned.get(`/jobs?resource=${ids.rebuilt}&limit=1`)).body.items;
    expect(job).toMatchObject({ kind: "ServerRebuild", status: "cancelled", error: { code: "restored" } });
    expect((await world.server(ids.rebuilt ?? "")).status).toBe("running");
  });

  test("scans of before, and those that miss something, do not count", async () => {
    expect(await state()).toMatchObject({
      restore: { id: marked.id, jobs_ended: 1 },
      regions: [{ region: world.region, state: "waiting", servers_in_removal_buffer: 1 }],
    });
    await scanner.look(all(), { complete: false, trouble: "offline: pve2" });
    expect((await state()).regions).toMatchObject([{ state: "waiting", last_scan_trouble: "offline: pve2" }]);
    // An agent that has just started has not read every firewall.
    const [first, ...others] = all();
    const { firewall: _, ...unread } = first as SeenVm;
    await scanner.look([unread as SeenVm, ...others]);
    expect((await state()).regions).toMatchObject([{ state: "waiting" }]);
    expect(await openRestore()).toEqual(["waiting"]);
    const early = await world.world.operator.patch(`/regions/${world.region}/restore`, { ended: true });
    expect(early.body.precondition?.name).toBe("region_scanned_since_restore");
  });
});

describe("when the region was scanned", () => {
  test("what unknown VMs use is held back, and listed with whose it is", async () => {
    const free = await world.rows("select vmid from region_vmid where state = 'free' order by vmid limit 3");
    lost.inside = lostVm(free[0].vmid, { address: "10.0.0.9", public: "203.0.113.10" });
    lost.elsewhere = lostVm(free[1].vmid, { address: "10.7.0.4", vlan: 101 });
    const { steady } = there;
    // A server that got an address after the moment of the backup.
    if (steady !== undefined)
      there.steady = {
        ...steady,
        interfaces: [
          ...(steady.interfaces ?? []),
          { position: 1, mac: "BC:24:11:00:99:03", bridge: "vmbr0", firewall: true, vlan: 10 },
        ],
        firewall: {
          ...(steady.firewall as NonNullable<SeenVm["firewall"]>),
          ipsets: [
            ...(steady.firewall?.ipsets ?? []),
            { name: "ipfilter-net1", addresses: ["203.0.113.11"] },
          ],
        },
      };
    // And one to which a reserved address was attached.
    const { rebuilt } = there;
    if (rebuilt !== undefined)
      there.rebuilt = {
        ...rebuilt,
        interfaces: [
          ...(rebuilt.interfaces ?? []),
          { position: 1, mac: "BC:24:11:00:99:04", bridge: "vmbr0", firewall: true, vlan: 10 },
        ],
        firewall: {
          ...(rebuilt.firewall as NonNullable<SeenVm["firewall"]>),
          ipsets: [
            ...(rebuilt.firewall?.ipsets ?? []),
            { name: "ipfilter-net1", addresses: [reservedIp.address] },
          ],
        },
      };
    await scanner.look(all());
    expect((await state()).regions).toMatchObject([{ state: "scanned", held_vms: 3 }]);
    expect(await openRestore()).toEqual(["scanned"]);
    const list = await held();
    const of = (vm: SeenVm | undefined) => list.find(({ vmid }) => vmid === vm?.vmid);
    expect(inWords(of(lost.inside))).toEqual([
      "address 10.0.0.9",
      "public_address 203.0.113.10",
      `vmid ${free[0].vmid}`,
    ]);
    expect(inWords(of(lost.elsewhere))).toEqual([`vlan 101`, `vmid ${free[1].vmid}`]);
    expect(inWords(of(there.steady))).toEqual(["public_address 203.0.113.11"]);
    expect(of(lost.inside)).toMatchObject({
      server_id: lost.inside.marker?.server_id,
      organisation_id: world.organisation.id,
      organisation_name: "acme",
      is_known: false,
    });
    expect(of(there.steady)?.is_known).toBe(true);
  });

  test("a reserved address is where it was seen, so that no other server gets it before it is taken off", async () => {
    const ip = (await world.owned.get(`/public-ips/${reservedIp.id}`)).body;
    expect(ip).toMatchObject({ attached_to: { id: ids.rebuilt }, status_reason: { code: "detach_failed" } });
    expect(await world.rows("select held_by from public_ip where id = $1", [reservedIp.id])).toEqual([
      { held_by: ids.rebuilt },
    ]);
    expect((await held()).map(({ vmid }) => vmid)).not.toContain(there.rebuilt?.vmid);
  });

  test("fifty more servers, their addresses and networks use none of it", async () => {
    const made: Answer["body"][] = [];
    for (let count = 0; count < 50; count += 1) {
      const more = count < 8 ? { public_ip: "auto" } : {};
      made.push((await world.create(more)).server);
    }
    const other = await world.world.addOrganisation("others");
    for (let count = 0; count < 5; count += 1) await world.create({ name: `theirs-${count}` }, other.owner);
    const used = await world.rows(`
      select 'vmid ' || vmid as what from region_vmid where state = 'used'
      union all select 'vlan ' || vlan from region_vlan where subnet_id is not null
      union all select 'address ' || host(address) from address where state = 'used' and organisation_id = '${world.organisation.id}'
      union all select 'public_address ' || host(address) from public_address where state = 'used'`);
    const taken = new Set(used.map(({ what }) => what));
    const wrong = (await held()).flatMap((vm) => inWords(vm) ?? []).filter((what) => taken.has(what));
    expect(wrong).toEqual([]);
    expect(made).toHaveLength(50);
    expect(await recordViolations()).toEqual([]);
  });

  test("jobs are done again above every epoch that was given out, and destroying waits", async () => {
    const claimed: string[] = [];
    for (;;) {
      const job = await world.agent.claim();
      if (job === null) break;
      expect(job.epoch).toBeGreaterThan(1_000_000);
      claimed.push(job.kind);
      await world.agent.succeed(job, "on");
      if (job.payload.kind === "ServerCreate") there[job.payload.server.id] = seenAs(job);
    }
    expect(claimed).not.toContain("ServerDestroy");
    // What had ended can be asked for again.
    const rebuild = { image: "debian-13", confirm_name: "rebuilt" };
    expect((await world.owned.post(`/servers/${ids.rebuilt}/rebuild`, rebuild)).status).toBe(202);
    const again = await world.agent.take("ServerRebuild");
    expect(again.epoch).toBeGreaterThan(1_000_000);
    await world.agent.succeed(again, "on");
  });

  test("nobody's removal buffer ends, and a server that runs in it is not stopped", async () => {
    await world.passBuffer(ids.buffered ?? "");
    expect(await sweepRemovalBuffers(world.world.replica.deps)).toBe(0);
    expect(
      await expireRemovalBuffer(world.world.replica.deps, world.organisation.id, ids.buffered ?? ""),
    ).toBe(false);
    // Its deletion was cancelled after the moment: it runs.
    const { buffered } = there;
    if (buffered !== undefined) there.buffered = { ...buffered, power: "on" };
    await scanner.look(all());
    expect(await world.agent.claim()).toBeNull();
    const listed = await world.rows(
      "select kind from drift where server_id = $1 and differences::text like '%power%'",
      [ids.buffered],
    );
    expect(listed).toHaveLength(1);
  });

  test("a VM that is imported is the server again that it was", async () => {
    const vm = lost.inside as SeenVm;
    const operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
    const subnet = (await world.server(ids.steady ?? "")).interfaces[0].subnet_id;
    const body = {
      name: "back-again",
      region: world.region,
      vmid: vm.vmid,
      image: "debian-13",
      package: "s",
      subnet_id: subnet,
    };
    const stranger = await world.world.addOrganisation("strangers");
    const foreign = world.world.operator.with({ "Kule-Organisation": stranger.id });
    const refused = await foreign.post("/servers/import", body);
    expect(refused.status, JSON.stringify(refused.body)).not.toBe(202);
    const imported = await operator.post("/servers/import", body);
    expect(imported.status, JSON.stringify(imported.body)).toBe(202);
    expect(imported.body.server.id).toBe(vm.marker?.server_id);
    const job = await world.agent.take("ServerAdopt");
    expect(job.payload.tags).toEqual(vm.tags);
    await world.agent.end(job, {
      status: "succeeded",
      observed: { power_state: "on", node: "pve1", macs: ["BC:24:11:00:99:01"] } as never,
    });
    const server = await world.server(imported.body.server.id);
    expect(server.interfaces).toMatchObject([{ private_ip: "10.0.0.9" }]);
    const ips = (await world.owned.get(`/public-ips?limit=200`)).body.items;
    expect(ips).toContainEqual(
      expect.objectContaining({
        address: "203.0.113.10",
        attached_to: { type: "server", id: server.id, name: "back-again" },
        status: "attached",
      }),
    );
    await scanner.look(all());
    expect((await held()).map(({ vmid }) => vmid)).not.toContain(vm.vmid);
    expect(await vmidOf(server.id)).toBe(vm.vmid);
    expect(await recordViolations()).toEqual([]);
  });

  test("the numbers of a VM that an operator has removed rest, and are free then", async () => {
    const vm = lost.elsewhere as SeenVm;
    delete lost.elsewhere;
    await scanner.look(all());
    expect((await held()).map(({ vmid }) => vmid)).not.toContain(vm.vmid);
    expect(
      await world.rows("select state, free_after > now() as rests from region_vmid where vmid = $1", [
        vm.vmid,
      ]),
    ).toEqual([{ state: "tombstone", rests: true }]);
    expect(await world.rows("select held from region_vlan where vlan = 101")).toEqual([{ held: false }]);
  });
});

describe("when an operator has worked through what differs", () => {
  test("what was to be destroyed is destroyed, and buffers end", async () => {
    const ended = await world.world.operator.patch(`/regions/${world.region}/restore`, { ended: true });
    expect(ended.status, JSON.stringify(ended.body)).toBe(200);
    expect(ended.body).toMatchObject({ state: "ended", servers_to_destroy: 1 });
    expect(await openRestore()).toEqual([]);
    const destroy = await world.agent.take("ServerDestroy");
    expect(destroy.payload).toMatchObject({ server: { id: ids.doomed } });
    await world.agent.succeed(destroy, "off");
    expect(await sweepRemovalBuffers(world.world.replica.deps)).toBe(1);
  });

  test("a region that was never restored waits for nothing", async () => {
    await world.world.addRegion("fresh", { vmid_range: { first: 30_000, last: 30_009 } });
    const answer = await world.world.operator.patch("/regions/fresh/restore", { ended: true });
    expect(answer.body.precondition?.name).toBe("region_was_restored");
  });
});

test("sessions, codes and, on request, tokens end with a restore", async () => {
  const invited = await world.owned.post("/invitations", { email: "late@kule.example", role: "viewer" });
  expect(invited.status).toBe(201);
  await world.world.operator.post(`/regions/${world.region}/enrolments`);
  const first = await restore();
  expect(first.codes_ended).toBe(2);
  expect(first.tokens_valid).toBeGreaterThan(1);
  const second = await restore(true);
  expect(second.tokens_valid).toBe(
    (await world.rows("select count(*)::int as n from token where kind = 'agent'"))[0].n,
  );
  expect(await world.rows("select count(*)::int as n from restore")).toEqual([{ n: 3 }]);
  const floors = await world.rows("select epoch_floor as floor from restore order by restored_at");
  expect(floors.map(({ floor }) => floor)).toEqual(
    floors.map(({ floor }) => floor).toSorted((a, b) => a - b),
  );
  expect(new Set(floors.map(({ floor }) => floor)).size).toBe(3);
});
