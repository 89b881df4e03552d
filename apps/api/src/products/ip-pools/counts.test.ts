import { runChecks } from "@kule/invariants/run-checks";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GatewayWorld, must } from "../../testing/gateway-world.ts";
import { checkInvariants } from "../../worker/check-invariants.ts";
import { cleanUp } from "../../worker/clean-up.ts";

let world: GatewayWorld;
let worker: pg.Client;
beforeAll(async () => {
  world = await GatewayWorld.open({ addressQuarantineSeconds: 600 }, 20);
  worker = new pg.Client({ connectionString: world.servers.world.database.workerUrl });
  await worker.connect();
});
afterAll(async () => {
  await worker?.end();
  await world?.servers.world.close();
});

const addresses = async () => {
  const pool = await must(world.servers.world.operator.get(`/ip-pools/${world.pool}`));
  return pool.addresses;
};
const rows = async () =>
  (await world.servers.rows("select from public_address_count where pool_id = $1", [world.pool])).length;
const wrong = async () =>
  (await runChecks(worker, { subjectsPerCheck: 10 })).flatMap(({ check, subjects }) =>
    check === "IP pools count what there is" ? subjects : [],
  );

test("the counts follow addresses that are reserved, released, in quarantine and free again", async () => {
  const { owned, region } = world.servers;
  // Network, gateway and broadcast address are never allocated.
  expect(await addresses()).toEqual({
    total: 256,
    reserved: 3,
    free: 233,
    allocated: 20,
    taken: 0,
    quarantined: 0,
  });
  const one = await must(owned.post("/public-ips", { region }));
  const other = await must(owned.post("/public-ips", { region }));
  expect(await addresses()).toMatchObject({ free: 233, allocated: 18, taken: 2, quarantined: 0 });
  await must(owned.delete(`/public-ips/${one.id}`));
  expect(await addresses()).toMatchObject({ free: 233, allocated: 18, taken: 1, quarantined: 1 });
  // The end of a quarantine changes no row.
  const counted = await rows();
  await world.servers.rows("update public_address set free_after = now() where state = 'quarantined'");
  expect(await rows()).toBe(counted);
  expect(await addresses()).toMatchObject({ free: 233, allocated: 19, taken: 1, quarantined: 0 });
  await must(owned.delete(`/public-ips/${other.id}`));
  expect(await wrong()).toEqual([]);

  const range = await must(
    world.servers.world.operator.post("/ip-pools", {
      region,
      name: "small",
      gateway: "198.51.100.1",
      prefix_length: 24,
    }),
  );
  const added = await must(
    world.servers.world.operator.post(`/ip-pools/${range.id}/ranges`, { cidr: "198.51.100.0/28" }),
  );
  await must(world.servers.world.operator.delete(`/ip-pools/${range.id}/ranges/${added.id}`));
  const emptied = await must(world.servers.world.operator.get(`/ip-pools/${range.id}`));
  expect(emptied.addresses).toEqual({
    total: 0,
    reserved: 0,
    free: 0,
    allocated: 0,
    taken: 0,
    quarantined: 0,
  });
  expect(await wrong()).toEqual([]);
});

test("many counts are replaced by their sums, also while addresses are reserved", async () => {
  const before = await addresses();
  await world.servers.rows(
    `insert into public_address_count (pool_id, state, is_allocated, amount)
       select $1, 'used', true, case when turn % 2 = 0 then 1 else -1 end from generate_series(1, 600) turn`,
    [world.pool],
  );
  const { owned, region } = world.servers;
  const [reserved] = await Promise.all([
    Promise.all(Array.from({ length: 5 }, () => must(owned.post("/public-ips", { region })))),
    cleanUp(world.servers.world.replica.deps.db),
  ]);
  await cleanUp(world.servers.world.replica.deps.db);
  expect(await rows()).toBeLessThan(30);
  expect(await addresses()).toMatchObject({ taken: before.taken + reserved.length, total: before.total });
  expect(await wrong()).toEqual([]);
});

test("counts that were changed by hand are reported by the invariants, and counted again", async () => {
  const before = await addresses();
  await world.servers.rows("insert into public_address_count values ($1, 'free', false, 5)", [world.pool]);
  expect((await addresses()).free).toBe(before.free + 5);
  expect(await wrong()).toEqual([`${world.pool} counts 238 free`, `${world.pool} has 233 free`]);
  await checkInvariants(world.servers.world.replica.deps, worker);
  expect(await addresses()).toEqual(before);
  expect(await wrong()).toEqual([]);
});
