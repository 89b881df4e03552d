import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

type Stuck = { readonly id: string; readonly reason: string; readonly since: string };

async function stuck(query = ""): Promise<Stuck[]> {
  const answer = await world.world.operator.get(`/operator/stuck-jobs${query}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.items;
}

/** Why the job is listed, or undefined. */
const reasonOf = async (id: string) => (await stuck()).find((each) => each.id === id)?.reason;
const minutesAgo = (column: string, jobId: string, minutes: number) =>
  world.rows(
    `update job set ${column} = clock_timestamp() - make_interval(mins => $2) where id = $1 returning id`,
    [jobId, minutes],
  );

test("a job that is not claimed, too slow, with a silent holder, or repeating", async () => {
  const { server, job } = await world.create({ name: "waits" });
  expect(await stuck()).toEqual([]);
  await minutesAgo("run_at", job.id, 14);
  expect(await reasonOf(job.id)).toBeUndefined();
  await minutesAgo("run_at", job.id, 16);
  expect(await stuck()).toMatchObject([
    {
      id: job.id,
      reason: "not_claimed",
      kind: "ServerCreate",
      status: "queued",
      region: "ist1",
      organisation: { id: world.organisation.id, name: expect.any(String) },
      resource: { type: "server", id: server.id, name: "waits" },
      error: null,
    },
  ]);

  const claimed = await world.agent.take("ServerCreate");
  expect(await reasonOf(job.id)).toBeUndefined();
  await minutesAgo("started_at", job.id, 29);
  expect(await reasonOf(job.id)).toBeUndefined();
  await minutesAgo("started_at", job.id, 31);
  expect(await reasonOf(job.id)).toBe("slow");

  // A job that waits for it is not itself stuck.
  const removal = (await world.owned.delete(`/servers/${server.id}`)).body.job;
  await minutesAgo("run_at", removal.id, 60);
  expect(await reasonOf(removal.id)).toBeUndefined();

  await world.rows("update job set attempt = 4 where id = $1 returning id", [job.id]);
  expect(await reasonOf(job.id)).toBe("repeating");
  await minutesAgo("lease_until", job.id, 2);
  expect(await reasonOf(job.id)).toBe("silent");
  await minutesAgo("lease_until", job.id, -1);
  await world.agent.succeed(claimed);
  await world.agent.work();
  expect(await stuck()).toEqual([]);
});

test("a job that failed is listed until it is retried or a later job replaces it", async () => {
  const { server, job } = await world.create({ name: "fails" });
  await world.agent.fail(await world.agent.take("ServerCreate"));
  const [failed] = (await stuck()).filter(({ id }) => id === job.id);
  expect(failed).toMatchObject({
    reason: "failed",
    status: "failed",
    resource: { name: "fails" },
    error: { code: "template_missing", region_message: "It did not work" },
  });
  // Internal details stay in the database: this page is read by people who forward it.
  expect(JSON.stringify(failed)).not.toContain("UPID");
  await minutesAgo("finished_at", job.id, 31 * 24 * 60);
  expect(await reasonOf(job.id)).toBeUndefined();
  await minutesAgo("finished_at", job.id, 29 * 24 * 60);
  expect(await reasonOf(job.id)).toBe("failed");

  expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
  expect(await reasonOf(job.id)).toBeUndefined();
  await world.agent.fail(await world.agent.take("ServerCreate"));
  expect(await reasonOf(job.id)).toBe("failed");
  await world.owned.delete(`/servers/${server.id}`);
  expect(await reasonOf(job.id)).toBeUndefined();
});

test("the list is of the installation, longest first, by region and reason, page by page", async () => {
  const made = [];
  for (const minutes of [20, 40, 30]) {
    const { job } = await world.create();
    await minutesAgo("run_at", job.id, minutes);
    made.push(job.id);
  }
  const [twenty, forty, thirty] = made;
  const ids = async (query: string) => (await stuck(query)).map(({ id }) => id);
  expect(await ids("?reason=not_claimed")).toEqual([forty, thirty, twenty]);
  expect(await ids("?reason=silent&reason=slow")).toEqual([]);
  expect(await ids("?region=nowhere")).toEqual([]);
  expect(await ids("?region=ist1&reason=not_claimed")).toHaveLength(3);
  const first = (await world.world.operator.get("/operator/stuck-jobs?reason=not_claimed&limit=2")).body;
  expect(await ids(`?reason=not_claimed&limit=2&cursor=${first.next_cursor}`)).toEqual([twenty]);
  expect((await world.owned.get("/operator/stuck-jobs")).status).toBe(403);
  expect((await world.world.operator.get("/operator/stuck-jobs?reason=tired")).status).toBe(422);
});
