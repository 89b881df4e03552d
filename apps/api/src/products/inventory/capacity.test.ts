import type { Schemas } from "@kule/contract/schemas";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { TestScanner } from "../../testing/test-scanner.ts";

let world: ServerWorld;
let testScanner: TestScanner;
beforeAll(async () => {
  world = await ServerWorld.open();
  testScanner = new TestScanner(world.agent.api);
});
afterAll(() => world?.close());

const gib = 2 ** 30;
const node = (name: string, memoryGib: number, more: object = {}): Schemas["InventoryNode"] => ({
  name,
  online: true,
  cpus: 64,
  memory_bytes: memoryGib * gib,
  memory_used_bytes: gib,
  others_memory_bytes: 0,
  others_vcpu: 0,
  ...more,
});
const storages = [{ name: "ceph", node: null, total_bytes: 100_000 * gib, used_bytes: 0 }];

/** Reports these nodes, and none of the earlier servers. */
async function report(nodes: readonly Schemas["InventoryNode"][], more: object = {}): Promise<void> {
  await testScanner.look([], { nodes, storages, images: [], ...more });
}
const check = async (more: object = {}) => {
  const answer = await world.owned.post("/catalog/check", {
    region: world.region,
    image: "debian-13",
    package: "m",
    ...more,
  });
  expect(answer.status).toBe(200);
  return answer.body;
};

test("before the first report nothing is known, and servers are accepted", async () => {
  expect(await check()).toEqual({
    region: "ist1",
    placeable: true,
    known: false,
    fits: null,
    reason: "unknown",
  });
  const { body } = await world.owned.get("/catalog");
  expect(body.packages[0].regions).toEqual([{ slug: "ist1", available: true, reason: "unknown" }]);
  await world.create();
  const job = await world.agent.take("ServerCreate");
  expect(job.payload.node).toBeNull();
  await world.agent.fail(job);
  await world.rows("update server set created_at = created_at - interval '1 hour'");
});

test("a region that has stopped reporting is silent, and servers are accepted all the same", async () => {
  await world.rows("update region set health_at = now() - interval '2 minutes', health_ok = true");
  expect(await check()).toMatchObject({ placeable: true, known: false, reason: "silent" });
  const { body } = await world.owned.get("/catalog");
  expect(body.packages[0].regions).toEqual([{ slug: "ist1", available: true, reason: "silent" }]);
  await world.rows("update region set health_at = null, health_ok = null");
});

test("impossible figures give no capacity, and operators read which they are", async () => {
  const enormous = { ...node("pve2", 12), cpus: 1_000_000 };
  const fuller = { ...node("pve3", 12), memory_used_bytes: 13 * gib };
  await report([node("pve1", 12), enormous, fuller, node("pve4", 1_000_000)]);
  // The failed server of the earlier test keeps its 2 GB, on whichever node.
  expect((await check()).fits).toBe(2);
  const read = async () => (await world.world.operator.get(`/regions/${world.region}/capacity`)).body;
  const { nodes, last_pass } = await read();
  expect(
    nodes.map(({ cpus, memory_free_mb }: { cpus: number; memory_free_mb: number }) => [
      cpus,
      memory_free_mb > 0,
    ]),
  ).toEqual([
    [64, true],
    [0, false],
    [0, false],
    [0, false],
  ]);
  expect(last_pass.trouble).toBe(
    "node pve2 reports 1000000 CPUs; node pve3 reports 13312 of 12288 MB of memory used; node pve4 reports 1024000000 MB of memory",
  );
  const impossible = { name: "ceph", node: null, total_bytes: 2 ** 53 - 1, used_bytes: 0 };
  await report([node("pve1", 12)], { storages: [impossible] });
  expect(await check()).toMatchObject({ placeable: false, fits: 0, reason: "capacity" });
  expect((await read()).last_pass.trouble).toBe("storage ceph reports 8388607 GB");
});

test("a create goes to a node with capacity, and is refused when there is none", async () => {
  // The failed server of the earlier test may be retried: it keeps its 2 GB on whichever node.
  await report([node("pve1", 12), node("pve2", 20), node("pve3", 500, { maintenance: true })]);
  const { fits } = await check();
  expect(fits).toBe(6);
  expect(await check({ count: 7 })).toMatchObject({ placeable: false, reason: "capacity" });
  expect(await check({ count: 6 })).toMatchObject({ placeable: true, reason: null });
  expect(await check({ package: "xxxl" })).toMatchObject({ placeable: false, fits: 0, reason: "capacity" });
  const { body } = await world.owned.get("/catalog");
  const large = body.packages.find(({ slug }: { slug: string }) => slug === "xxxl");
  expect(large.regions).toEqual([{ slug: "ist1", available: false, reason: "capacity" }]);

  const nodes: (string | null | undefined)[] = [];
  for (let made = 0; made < 6; made++) {
    await world.create({ package: "m" });
    const job = await world.agent.take("ServerCreate");
    nodes.push(job.payload.node);
    await world.agent.succeed(job);
  }
  expect(nodes.sort()).toEqual(["pve1", "pve1", "pve2", "pve2", "pve2", "pve2"]);
  const refused = await world.owned.post("/servers", world.body({ package: "m" }));
  expect(refused.status).toBe(409);
  expect(refused.body).toMatchObject({
    code: "capacity_unavailable",
    precondition: { name: "region_has_capacity", resource: "ist1" },
  });
  const dry = await world.owned.post("/servers?dry_run=true", world.body({ package: "m" }));
  expect(dry.body.blockers.map(({ code }: { code: string }) => code)).toEqual(["capacity_unavailable"]);
  const operators = await world.world.operator.get("/regions/ist1/capacity");
  expect(operators.body).toMatchObject({ fresh: true, last_pass: { complete: true } });
  expect(
    operators.body.nodes.map(({ memory_free_mb }: { memory_free_mb: number }) => memory_free_mb < 4096),
  ).toEqual([true, true, true]);
});

test("of concurrent creates no two get the last place", async () => {
  const before = await world.rows("select count(*)::integer as n from server");
  await report([node("pve1", 200), node("pve2", 1)]);
  const { fits } = await check({ package: "xxl" });
  expect(fits).toBeGreaterThan(2);
  const answers = await Promise.all(
    Array.from({ length: fits + 6 }, () => world.owned.post("/servers", world.body({ package: "xxl" }))),
  );
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(fits);
  const after = await world.rows("select count(*)::integer as n from server");
  expect(after[0].n - before[0].n).toBe(fits);
});

test("what another organisation uses counts too", async () => {
  await report([node("pve1", 1000)]);
  const { fits } = await check({ package: "xxl" });
  const other = await world.world.addOrganisation("other");
  await world.create({ package: "xxl" }, other.owner);
  expect((await check({ package: "xxl" })).fits).toBe(fits - 1);
});

test("an old report refuses nothing", async () => {
  await report([node("pve1", 1)]);
  expect((await world.owned.post("/servers", world.body())).status).toBe(409);
  await world.rows("update region_inventory set capacity_at = capacity_at - interval '2 minutes'");
  expect((await world.owned.post("/servers", world.body())).status).toBe(202);
});
