import { runChecks } from "@kule/invariants/run-checks";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { checkInvariants } from "../../worker/check-invariants.ts";
import { cleanUp } from "../../worker/clean-up.ts";

let world: ServerWorld;
let worker: pg.Client;
let organisation: { id: string; owner: ApiCaller };
let organisations = 0;
beforeAll(async () => {
  world = await ServerWorld.open({ removalBufferSeconds: 0 });
  worker = new pg.Client({ connectionString: world.world.database.workerUrl });
  await worker.connect();
});
afterAll(async () => {
  await worker?.end();
  await world?.close();
});
beforeEach(async () => {
  organisations += 1;
  organisation = await world.world.addOrganisation(`counted-${organisations}`);
});

const used = async () =>
  Object.fromEntries(
    ((await organisation.owner.get("/quotas")).body.items as { name: string; used: number }[])
      .filter((quota) => quota.used !== 0)
      .map((quota) => [quota.name, quota.used]),
  );
const rows = async () =>
  (await world.rows("select from quota_count where organisation_id = $1", [organisation.id])).length;
const limit = async (limits: Record<string, number | null>) => {
  const path = `/organisations/${organisation.id}/quotas`;
  expect((await world.world.operator.put(path, { limits })).status).toBe(200);
};
/** A counted resource that came and went so many times. */
const churn = (times: number) =>
  world.rows(
    `insert into quota_count (organisation_id, resource, amount)
       select $1, 'network', case when turn % 2 = 0 then 1 else -1 end from generate_series(1, 2 * $2::integer) turn
     returning resource`,
    [organisation.id, times],
  );
const wrong = async () =>
  (await runChecks(worker, { subjectsPerCheck: 10 })).flatMap(({ check, subjects }) =>
    check === "quotas count what there is" ? subjects : [],
  );

describe("the counts of quotas", () => {
  test("follow a server through its life, whatever its size", async () => {
    const { server } = await world.create({ package: "m" }, organisation.owner);
    await world.agent.work();
    expect(await used()).toEqual({
      servers: 1,
      vcpu: 2,
      memory_mb: 4096,
      disk_gb: 80,
      networks: 1,
      subnets: 1,
    });
    expect(
      (await organisation.owner.post(`/servers/${server.id}/resize`, { package: "l", allow_restart: true }))
        .status,
    ).toBe(202);
    expect(await used()).toMatchObject({ servers: 1, vcpu: 4, memory_mb: 8192, disk_gb: 160 });
    await world.agent.work();
    expect(await used()).toMatchObject({ servers: 1, vcpu: 4, memory_mb: 8192, disk_gb: 160 });
    expect(await wrong()).toEqual([]);
    await organisation.owner.delete(`/servers/${server.id}`);
    await world.agent.work();
    expect(await wrong()).toEqual([]);
  });

  test("are folded under the lock of a create that reads many rows, and stay what they were", async () => {
    await limit({ servers: 3 });
    await churn(300);
    await world.create({}, organisation.owner);
    expect(await rows()).toBeLessThan(20);
    await world.create({}, organisation.owner);
    await world.create({}, organisation.owner);
    expect((await organisation.owner.post("/servers", world.body())).body.code).toBe("quota_exceeded");
    expect(await used()).toMatchObject({ servers: 3, networks: 1 });
    expect(await wrong()).toEqual([]);
  });

  test("are folded by the worker where nothing is limited", async () => {
    await world.create({}, organisation.owner);
    const before = await used();
    await churn(300);
    await cleanUp(world.world.replica.deps.db);
    expect(await rows()).toBeLessThan(20);
    expect(await used()).toEqual(before);
  });

  test("are exact when creates, folds and recounts run at once", async () => {
    await limit({ servers: 8 });
    const folds = async (call: string) => {
      const client = new pg.Client({ connectionString: world.world.database.ownerUrl });
      await client.connect();
      for (let turn = 0; turn < 20; turn += 1) await client.query(`select ${call}($1)`, [organisation.id]);
      await client.end();
    };
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 16 }, () => organisation.owner.post("/servers", world.body()))),
      folds("kule_fold_quota_counts"),
      folds("kule_fold_quota_counts"),
      folds("kule_recount_quotas"),
    ]);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(8);
    expect(answers.filter(({ body }) => body.code === "quota_exceeded")).toHaveLength(8);
    expect(await used()).toMatchObject({ servers: 8 });
    expect(await wrong()).toEqual([]);
  });

  test("are counted again only after a fold that is not committed yet", async () => {
    await world.create({}, organisation.owner);
    const before = await used();
    const folding = await world.owner.connect();
    await folding.query("begin");
    await folding.query("select kule_fold_quota_counts($1)", [organisation.id]);
    const recount = worker.query("select kule_recount_quotas($1)", [organisation.id]);
    await expect
      .poll(() =>
        world.rows(
          "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%kule_recount_quotas%'",
        ),
      )
      .toHaveLength(1);
    await folding.query("commit");
    folding.release();
    await recount;
    expect(await used()).toEqual(before);
    expect(await wrong()).toEqual([]);
  });

  test("that were changed by hand are reported by the invariants, and counted again", async () => {
    await world.create({}, organisation.owner);
    const before = await used();
    await world.rows(
      "insert into quota_count (organisation_id, resource, amount) values ($1, 'network', 5)",
      [organisation.id],
    );
    expect(await used()).toMatchObject({ networks: 6 });
    expect(await wrong()).toEqual([
      `${organisation.id} counts 6 network`,
      `${organisation.id} has 1 network`,
    ]);
    await checkInvariants(world.world.replica.deps, worker);
    expect(await used()).toEqual(before);
    expect(await wrong()).toEqual([]);
  });
});
