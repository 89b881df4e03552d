import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.passBackoff();
  for (const { id } of await world.rows("select id from job where status = 'running'"))
    await world.passLease(id);
  await world.agent.work();
});

type Event = { readonly id: number; readonly job: { status: string; progress: number; done: boolean } };

/** Reads a job's events until the stream ends, or until `enough` of them came. */
async function readEvents(
  jobId: string,
  options: { lastEventId?: number; enough?: number; app?: ServerWorld["world"]["app"] } = {},
): Promise<Event[]> {
  const leaving = new AbortController();
  const response = await (options.app ?? world.world.app).request(`/api/v1/jobs/${jobId}/events`, {
    headers: {
      Authorization: `Bearer ${world.owned.token}`,
      ...(options.lastEventId === undefined ? {} : { "Last-Event-ID": String(options.lastEventId) }),
    },
    signal: leaving.signal,
  });
  expect(response.headers.get("Content-Type")).toBe("text/event-stream");
  const events: Event[] = [];
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk as Uint8Array);
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id] = /^id: (\d+)$/m.exec(block) ?? [];
      const [, data] = /^data: (.+)$/m.exec(block) ?? [];
      if (id !== undefined && data !== undefined) events.push({ id: Number(id), job: JSON.parse(data) });
    }
    if (options.enough !== undefined && events.length >= options.enough) break;
  }
  leaving.abort();
  return events;
}

describe("GET /jobs", () => {
  test("lists the organisation's jobs, newest first, by every filter", async () => {
    const { server, job } = await world.create();
    await world.agent.work();
    const stop = (await world.owned.delete(`/servers/${server.id}`)).body.job;
    const ids = async (query: string) =>
      (await world.owned.get(`/jobs${query}`)).body.items.map((each: { id: string }) => each.id);
    expect(await ids(`?resource=${server.id}`)).toEqual([stop.id, job.id]);
    expect(await ids(`?resource=${server.id}&status=queued&status=running`)).toEqual([stop.id]);
    expect(await ids(`?resource=${server.id}&kind=ServerCreate`)).toEqual([job.id]);
    expect(await ids(`?resource=${server.id}&region=nowhere`)).toEqual([]);
    const first = (await world.owned.get(`/jobs?resource=${server.id}&limit=1`)).body;
    expect(await ids(`?resource=${server.id}&limit=1&cursor=${first.next_cursor}`)).toEqual([job.id]);
    const other = await world.world.addOrganisation("jobless");
    expect((await other.owner.get(`/jobs?resource=${server.id}`)).body.items).toEqual([]);
    for (const answer of [
      await other.owner.get(`/jobs/${job.id}`),
      await other.owner.get(`/jobs/${job.id}/events`),
      await other.owner.post(`/jobs/${job.id}/cancel`),
      await other.owner.post(`/jobs/${job.id}/retry`),
      await other.owner.get("/jobs/nonsense"),
    ])
      expect([answer.status, answer.body.detail]).toEqual([404, "no such resource"]);
  });
});

test("a job shows its server's present name, and none once it is deleted", async () => {
  const { server, job } = await world.create();
  const resource = async () => (await world.owned.get(`/jobs/${job.id}`)).body.resource;
  expect(await resource()).toEqual({ type: "server", id: server.id, name: server.name });
  await world.agent.work();
  await world.owned.patch(`/servers/${server.id}`, { name: "another-name" });
  expect(await resource()).toMatchObject({ name: "another-name" });
  await world.agent.work();
  await world.owned.delete(`/servers/${server.id}?purge=true`);
  await world.agent.work();
  expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
  expect(await resource()).toEqual({ type: "server", id: server.id, name: null });
});

describe("GET /jobs/{id}", () => {
  test("says how long to wait while the job is open", async () => {
    const { job } = await world.create();
    expect((await world.owned.get(`/jobs/${job.id}`)).headers.get("Retry-After")).toBe("5");
    await world.agent.work();
    const done = await world.owned.get(`/jobs/${job.id}`);
    expect(done.body).toMatchObject({ status: "succeeded", done: true });
    expect(done.headers.get("Retry-After")).toBeNull();
  });

  test("accepts polling at twice the rate after a burst, and refuses more", async () => {
    const { job } = await world.create();
    const statuses: number[] = [];
    for (let look = 0; look < 12; look += 1) statuses.push((await world.owned.get(`/jobs/${job.id}`)).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429, 429]);
    const refused = await world.owned.get(`/jobs/${job.id}`);
    expect([refused.headers.get("Retry-After"), refused.body.code]).toEqual(["5", "rate_limited"]);
    const another = await world.world.addToken(world.organisation.id, "viewer");
    expect((await another.get(`/jobs/${job.id}`)).status).toBe(200);
    const { job: second } = await world.create();
    expect((await world.owned.get(`/jobs/${second.id}`)).status).toBe(200);
  });

  test("counts no wait as a poll, not even of a job that has ended: it answers at once", async () => {
    const { job } = await world.create();
    await world.agent.work();
    const statuses: number[] = [];
    for (let look = 0; look < 30; look += 1)
      statuses.push((await world.owned.get(`/jobs/${job.id}?wait=30`)).status);
    expect(statuses).toEqual(Array(30).fill(200));
    expect((await world.owned.get(`/jobs/${job.id}`)).status).toBe(200);
  });

  test("with wait answers as soon as the job is done, at any replica", async () => {
    const { job } = await world.create();
    const replica = await world.world.addReplica();
    const waiting = [world.owned, world.owned.at(replica.app)].map((caller) =>
      caller.get(`/jobs/${job.id}?wait=30`),
    );
    const claimed = await world.agent.take("ServerCreate");
    const startedAt = performance.now();
    await world.agent.succeed(claimed);
    for (const answer of await Promise.all(waiting)) expect(answer.body.done).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  test("with wait gathers small steps, and answers in time when nothing happens", {
    timeout: 60_000,
  }, async () => {
    const { job } = await world.create();
    const startedAt = performance.now();
    const quiet = await world.owned.get(`/jobs/${job.id}?wait=1`);
    expect(quiet.body.status).toBe("queued");
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    const claimed = await world.agent.take("ServerCreate");
    const waiting = world.owned.get(`/jobs/${job.id}?wait=30`);
    for (const progress of [30, 40, 50]) await world.agent.report(claimed, { phase: "apply", progress });
    const answer = await waiting;
    expect(answer.body.progress).toBeGreaterThanOrEqual(30);
    // Requests that wait do not count as polling, however many there are.
    for (let round = 0; round < 12; round += 1) {
      const [next] = await Promise.all([
        world.owned.get(`/jobs/${job.id}?wait=1`),
        world.agent.report(claimed, { progress: 50 }),
      ]);
      expect(next.status).toBe(200);
    }
  });

  test("with a wait that is out of range is refused", async () => {
    const { job } = await world.create();
    expect((await world.owned.get(`/jobs/${job.id}?wait=31`)).status).toBe(422);
    expect((await world.owned.get(`/jobs/${job.id}?wait=soon`)).status).toBe(422);
  });
});

describe("GET /jobs/{id}/events", () => {
  test("sends each change and ends with the job", async () => {
    const { job } = await world.create();
    const reading = readEvents(job.id);
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.report(claimed, { phase: "apply", progress: 50 });
    await world.agent.succeed(claimed);
    const events = await reading;
    expect(events.at(-1)?.job).toMatchObject({ status: "succeeded", done: true, progress: 100 });
    const ids = events.map((event) => event.id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  });

  test("resumes after the last event, at another replica too", async () => {
    const { job } = await world.create();
    const [first] = await readEvents(job.id, { enough: 1 });
    if (first === undefined) throw new Error("no event");
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.succeed(claimed);
    const replica = await world.world.addReplica();
    const rest = await readEvents(job.id, { lastEventId: first.id, app: replica.app });
    expect(rest).toHaveLength(1);
    expect(rest[0]?.id).toBeGreaterThan(first.id);
    expect(await readEvents(job.id, { lastEventId: rest[0]?.id ?? 0 })).toEqual([]);
  });

  test("ends when its token is revoked", async () => {
    const { job } = await world.create();
    const minted = (await world.owned.post("/tokens", { name: "watcher", role: "viewer" })).body;
    const response = await world.world.app.request(`/api/v1/jobs/${job.id}/events`, {
      headers: { Authorization: `Bearer ${minted.secret}` },
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await world.owned.delete(`/tokens/${minted.token.id}`);
    const claimed = await world.agent.take("ServerCreate");
    await world.owner.query("select pg_sleep(1.1)");
    await world.agent.report(claimed, { progress: 66 });
    let text = "";
    for (;;) {
      const chunk = await reader?.read();
      if (chunk?.done !== false) break;
      text += new TextDecoder().decode(chunk.value);
    }
    expect(text).not.toContain('"progress":66');
  });
});

describe("POST /jobs/{id}/cancel", () => {
  test("leaves a server as the job's last attempt saw it", async () => {
    const { id } = await world.createRunning();
    const { job } = (await world.owned.post(`/servers/${id}/power`, { action: "reboot" })).body;
    const claimed = await world.agent.take("ServerPower");
    await world.agent.end(claimed, { status: "retry", observed: { power_state: "off" } });
    expect((await world.owned.post(`/jobs/${job.id}/cancel`)).status).toBe(202);
    expect(await world.server(id)).toMatchObject({ status: "stopped", power_state: "off" });
  });

  test("ends a create that waits at once, and leaves its server to be deleted or retried", async () => {
    const { server, job } = await world.create();
    const answer = await world.owned.post(`/jobs/${job.id}/cancel`);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      status: "cancelled",
      done: true,
      cancellable: false,
      retryable: true,
    });
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "create_cancelled", job_id: job.id },
    });
    expect(await world.agent.claim()).toBeNull();
    expect(await world.rows("select 1 from graphile_worker._private_jobs where key = $1", [job.id])).toEqual(
      [],
    );
    const again = await world.owned.post(`/jobs/${job.id}/cancel`);
    expect([again.status, again.body.code, again.body.current_status]).toEqual([
      409,
      "invalid_state",
      "cancelled",
    ]);
  });

  test("requests the cancel from the holder of a running create", async () => {
    const { server, job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const answer = await world.owned.post(`/jobs/${job.id}/cancel`);
    expect(answer.body).toMatchObject({ status: "running", cancel_requested: true, cancellable: false });
    expect((await world.agent.report(claimed)).body.cancel_requested).toBe(true);
    await world.agent.end(claimed, { status: "cancelled" });
    expect(await world.job(job.id)).toMatchObject({ status: "cancelled" });
    expect((await world.server(server.id)).status).toBe("error");
  });

  test("is refused once something irreversible was done, and for a removal", async () => {
    const { server, job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.report(claimed, { irreversible: true });
    const late = await world.owned.post(`/jobs/${job.id}/cancel`);
    expect([late.status, late.body.code]).toEqual([409, "invalid_state"]);
    await world.agent.succeed(claimed);
    const stop = (await world.owned.delete(`/servers/${server.id}`)).body.job;
    expect(stop.cancellable).toBe(false);
    const refused = await world.owned.post(`/jobs/${stop.id}/cancel`);
    expect(refused.body.detail).toContain("cancel-deletion");
  });
});

describe("POST /jobs/{id}/retry", () => {
  test("continues with the same job, under a new epoch", async () => {
    const { server, job } = await world.create();
    await world.agent.fail(await world.agent.take("ServerCreate"));
    const answer = await world.owned.post(`/jobs/${job.id}/retry`);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ id: job.id, status: "queued", attempt: 0, error: null, done: false });
    expect(await world.server(server.id)).toMatchObject({ status: "creating", status_reason: null });
    const claimed = await world.agent.take("ServerCreate");
    expect(claimed).toMatchObject({ id: job.id, epoch: 2, attempt: 1 });
    await world.agent.succeed(claimed);
    expect((await world.server(server.id)).status).toBe("running");
    const steps = await world.rows(
      "select count(*)::int as n from audit where resource = $1 and action = 'job.end'",
      [job.id],
    );
    expect(steps).toEqual([{ n: 2 }]);
  });

  test("is refused for what has succeeded, is open, or has moved on", async () => {
    const { server, job } = await world.create();
    const open = await world.owned.post(`/jobs/${job.id}/retry`);
    expect([open.status, open.body.code]).toEqual([409, "invalid_state"]);
    await world.agent.fail(await world.agent.take("ServerCreate"));
    await world.owned.delete(`/servers/${server.id}`);
    const moved = await world.owned.post(`/jobs/${job.id}/retry`);
    expect([moved.status, moved.body.code]).toEqual([409, "invalid_state"]);
    await world.agent.work();
    expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(409);
  });

  test("of a failed restore restores the server after all", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    const { job } = (await world.owned.post(`/servers/${server.id}/cancel-deletion`)).body;
    await world.agent.fail(await world.agent.take("ServerRestore"), "node_full");
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "restore_failed" },
    });
    await world.owned.post(`/jobs/${job.id}/retry`);
    expect((await world.server(server.id)).status).toBe("starting");
    const restore = await world.agent.take("ServerRestore");
    expect(restore.payload.start).toBe(true);
    await world.agent.succeed(restore, "on");
    expect((await world.server(server.id)).status).toBe("running");
  });
});

describe("GET /usage", () => {
  test("lists events in order, without gaps, by resource and time", async () => {
    const { owner } = await world.world.addOrganisation("metered");
    for (let count = 0; count < 3; count += 1) await world.create({}, owner);
    await world.agent.work();
    const all = (await owner.get("/usage")).body.items;
    expect(all.map((event: { seq: number }) => event.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(all[0]).toMatchObject({
      kind: "disk.allocated",
      package: "s",
      quantity: { vcpu: 1, memory_mb: 2048, disk_gb: 40 },
    });
    const page = (await owner.get("/usage?limit=4")).body;
    const rest = (await owner.get(`/usage?limit=4&cursor=${page.next_cursor}`)).body;
    expect([...page.items, ...rest.items]).toEqual(all);
    const one = (await owner.get(`/usage?resource=${all[0].resource.id}`)).body.items;
    expect(one.map((event: { kind: string }) => event.kind)).toEqual(["disk.allocated", "server.started"]);
    expect((await owner.get("/usage?from=2099-01-01T00:00:00Z")).body.items).toEqual([]);
    expect((await owner.get("/usage?to=2099-01-01T00:00:00Z")).body.items).toHaveLength(6);
    expect((await owner.get("/usage?from=yesterday")).status).toBe(422);
    expect((await owner.get("/usage?from=2026-06-30T23:59:60Z")).status).toBe(422);
  });
});
