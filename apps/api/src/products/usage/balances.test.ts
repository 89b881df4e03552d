import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { balanceUsage } from "./balances.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

test("what began in an hour that is over is added up once, and a correction changes the sums of the past", async () => {
  const { id } = await world.createRunning({ labels: { team: "a" } });
  await world.createRunning();
  // The first server has run for two days, the second one since now.
  await world.owner.query(
    `update usage_event set at = at - interval '2 days' where resource_id = '${id}';
     update usage_segment set started_at = started_at - interval '2 days' where resource_id = '${id}'`,
  );
  const { db } = world.world.replica.deps;
  const balances = () =>
    world.rows(
      `select label_key || label_value as label, kind, begun::integer, ended::integer, first::integer, is_last from usage_balance
        where organisation_id = $1 order by label, kind`,
      [world.organisation.id],
    );
  const each = (label: string, diskGb: number) => [
    { label, kind: "compute", begun: 1, ended: 0, first: 1, is_last: true },
    { label, kind: "disk", begun: 1, ended: 0, first: diskGb, is_last: true },
  ];
  await balanceUsage(db);
  expect(await balances()).toEqual([...each("", 40), ...each("team", 40), ...each("team=a", 40)]);
  await balanceUsage(db);
  expect((await balances()).length).toBe(6);

  const summary = async () =>
    (await world.owned.get("/usage/summary?group_by=label:team")).body.items.map(
      ({ group, disk_gb_seconds, disk_seconds }: Record<string, number>) => [
        group,
        Math.round((disk_gb_seconds ?? 0) / (disk_seconds ?? 1)),
      ],
    );
  expect(await summary()).toEqual([
    [null, 40],
    ["a", 40],
  ]);

  const { items } = (await world.owned.get(`/usage/segments?resource=${id}&kind=disk`)).body;
  const path = `/organisations/${world.organisation.id}/usage-corrections`;
  const correction = { segment: items[0].id, quantity: { disk_gb: 80 }, reason: "was ordered" };
  expect((await world.world.operator.post(path, correction)).status).toBe(201);
  expect(await balances()).toEqual([...each("", 80), ...each("team", 80), ...each("team=a", 80)]);
  expect(await summary()).toEqual([
    [null, 40],
    ["a", 80],
  ]);
  expect((await world.violations()).filter(({ subject }) => subject.includes(world.organisation.id))).toEqual(
    [],
  );
});
