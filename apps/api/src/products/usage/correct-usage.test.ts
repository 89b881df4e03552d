import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { seenAs, TestScanner } from "../../testing/test-scanner.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

type Segment = { id: string; kind: string; end: string | null; quantity: Record<string, number> };

test("a disk that a region reported too large is corrected by an operator, for the past and the future", async () => {
  const { server } = await world.create();
  const job = await world.agent.take("ServerCreate");
  await world.agent.succeed(job, "on");
  const vm = seenAs(job);
  const testScanner = new TestScanner(world.agent.api);
  await world.owned.post(`/servers/${server.id}/resize`, { package: "xxl", allow_restart: true });
  await world.agent.fail(await world.agent.take("ServerResize"));
  await testScanner.look([{ ...vm, disk_bytes: 400 * 2 ** 30 }]);
  const disks = async () =>
    (await world.owned.get(`/usage/segments?resource=${server.id}&kind=disk`)).body.items as Segment[];
  const [first, inflated] = await disks();
  expect([first?.quantity, inflated?.quantity]).toEqual([{ disk_gb: 40 }, { disk_gb: 400 }]);

  const path = `/organisations/${world.organisation.id}/usage-corrections`;
  const correction = { segment: inflated?.id, quantity: { disk_gb: 40 }, reason: "never ordered" };
  for (const caller of [world.owned, world.agent.api])
    expect((await caller.post(path, correction)).status).toBe(403);
  const answer = await world.world.operator.post(path, correction);
  expect([answer.status, answer.body]).toMatchObject([
    201,
    { kind: "usage.corrected", source: "correction", corrects: inflated?.id, quantity: { disk_gb: 40 } },
  ]);

  // The segments add up to the correct quantity, the events still show what was counted before, and the
  // record is correct again.
  expect((await disks()).map(({ quantity }) => quantity)).toEqual([{ disk_gb: 40 }, { disk_gb: 40 }]);
  const [sum] = (await world.owned.get(`/usage/summary?resource=${server.id}`)).body.items;
  expect(sum.disk_gb_seconds).toBeCloseTo(sum.disk_seconds * 40, 2);
  const events = (await world.owned.get(`/usage?resource=${server.id}`)).body.items;
  expect(
    events.map(({ kind, quantity }: { kind: string; quantity: { disk_gb?: number } }) => [
      kind,
      quantity.disk_gb,
    ]),
  ).toEqual([
    ["disk.allocated", 40],
    ["server.started", 40],
    ["server.resized", 400],
    ["usage.corrected", 40],
  ]);
  expect((await world.server(server.id)).disk_gb).toBe(40);
  const [audit] = (await world.world.operator.get("/audit?action=usage.correct")).body.items;
  expect(audit).toMatchObject({
    resource: server.id,
    details: { segment: inflated?.id, from: { disk_gb: 400 }, to: { disk_gb: 40 }, reason: "never ordered" },
  });
  expect(await world.violations()).toEqual([]);
});

test("a correction names a segment of the organisation, and what it is counted in", async () => {
  const { id } = await world.createRunning();
  const [segment] = (await world.owned.get(`/usage/segments?resource=${id}&kind=compute`)).body.items;
  const path = `/organisations/${world.organisation.id}/usage-corrections`;
  const other = await world.world.addOrganisation("other");
  const refused = async (on: string, body: object) => {
    const answer = await world.world.operator.post(on, { reason: "r", ...body });
    return [answer.status, answer.body.errors?.map(({ field }: { field: string }) => field)];
  };
  expect(await refused(path, { segment: segment.id, quantity: { disk_gb: 1 } })).toEqual([
    422,
    ["quantity.disk_gb"],
  ]);
  expect(await refused(path, { segment: segment.id, quantity: {} })).toEqual([422, ["quantity"]]);
  expect(await refused(path, { segment: "seg_none", quantity: { vcpu: 1 } })).toEqual([422, ["segment"]]);
  const foreign = `/organisations/${other.id}/usage-corrections`;
  expect(await refused(foreign, { segment: segment.id, quantity: { vcpu: 1 } })).toEqual([422, ["segment"]]);
  expect((await world.world.operator.post(path, { segment: segment.id, quantity: { vcpu: 1 } })).status).toBe(
    422,
  );
});
