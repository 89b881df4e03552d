import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld } from "../../testing/api-world.ts";
import { runWorker } from "../../worker/run.ts";

let world: ApiWorld;
let owner: Client;
beforeAll(async () => {
  world = await ApiWorld.open();
  owner = new Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await world.close();
});

const readiness = async () => (await new ApiCaller(world.app, null).get("/readyz")).body;
const withoutWorker = {
  status: "degraded",
  missing: [{ part: "worker", detail: expect.stringContaining("start kule-api worker") }],
};

test("reports that no worker runs, once the last one stops or is silent", async () => {
  expect(await readiness()).toEqual(withoutWorker);
  const { deps } = world.replica;
  const first = await runWorker({ deps, workerUrl: world.database.workerUrl });
  await expect.poll(readiness).toEqual({ status: "ok", missing: [] });
  await first.stop();
  expect(await readiness()).toEqual(withoutWorker);

  await owner.query("insert into worker_process (id) values ('killed')");
  expect(await readiness()).toEqual({ status: "ok", missing: [] });
  await owner.query("update worker_process set seen_at = clock_timestamp() - interval '21 seconds'");
  expect(await readiness()).toEqual(withoutWorker);

  await owner.query("update worker_process set seen_at = clock_timestamp() - interval '2 hours'");
  const second = await runWorker({ deps, workerUrl: world.database.workerUrl });
  await expect.poll(readiness).toEqual({ status: "ok", missing: [] });
  expect((await owner.query("select from worker_process where id = 'killed'")).rowCount).toBe(0);
  await second.stop();
});
