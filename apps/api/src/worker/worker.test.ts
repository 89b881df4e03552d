import { once } from "node:events";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../testing/server-world.ts";
import { cleanUp } from "./clean-up.ts";
import { releaseTasksOfTheDead } from "./presence.ts";
import { runWorker, tasksOf } from "./run.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open({ removalBufferSeconds: 1 });
});
afterAll(() => world.close());

describe("the worker", () => {
  test("destroys a server when its removal buffer ends, without a request", async () => {
    const server = await world.createRunning();
    const running = await runWorker({
      deps: world.world.replica.deps,
      workerUrl: world.world.database.workerUrl,
    });
    try {
      const { purge_at } = (await world.owned.delete(`/servers/${server.id}`)).body.server.deletion;
      await world.agent.succeed(await world.agent.take("ServerStop"), "off");
      const destroy = await world.agent.claim({ wait_seconds: 20 });
      expect(destroy).toMatchObject({ kind: "ServerDestroy", payload: { server: { id: server.id } } });
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(purge_at));
      if (destroy !== null) await world.agent.succeed(destroy, "off");
      expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
      const [audit] = await world.rows(
        "select actor_type, actor_name from audit where action = 'server.purge' and resource = $1",
        [server.id],
      );
      expect(audit).toEqual({ actor_type: "system", actor_name: "removal buffer" });
    } finally {
      await running.stop();
    }
    await running.ended;
  });

  test("never claims a region's jobs, and ends the tasks it takes", async () => {
    const { job } = await world.create();
    const running = await runWorker({
      deps: world.world.replica.deps,
      workerUrl: world.world.database.workerUrl,
    });
    const listener = new pg.Client({ connectionString: world.world.database.ownerUrl });
    await listener.connect();
    await listener.query("listen kule_region");
    const { server } = await world.create();
    const expiring = once(listener, "notification");
    await world.owned.delete(`/servers/${server.id}`);
    await expiring;
    await running.stop();
    await listener.end();
    const [region] = await world.rows(
      "select attempts, locked_at from graphile_worker._private_jobs where key = $1",
      [job.id],
    );
    expect(region).toEqual({ attempts: 0, locked_at: null });
    await world.agent.work();
  });

  test("completes what a lost task left in the buffer, and releases leases that expired", async () => {
    const lost = await world.createRunning();
    await world.owned.delete(`/servers/${lost.id}`);
    await world.agent.work();
    await world.owner.query("delete from graphile_worker._private_jobs where key = $1", [`purge:${lost.id}`]);
    await world.passBuffer(lost.id);
    const { job } = await world.create();
    await world.agent.take("ServerCreate");
    await world.passLease(job.id);

    const tasks = tasksOf(world.world.replica.deps);
    await tasks.sweep_removal_buffers?.({}, {} as never);
    await tasks.reap_leases?.({}, {} as never);
    expect((await world.server(lost.id)).status).toBe("deleting");
    expect(await world.job(job.id)).toMatchObject({ status: "queued", error: { code: "lease_expired" } });
    await world.passBackoff();
    await world.agent.work();
  });

  test("reaps the leases after one that cannot be reaped, and logs it", async () => {
    const { job: broken } = await world.create();
    const { job } = await world.create();
    await world.agent.take("ServerCreate");
    await world.agent.take("ServerCreate");
    await world.owner.query("update job set resource_type = 'subnet' where id = $1", [broken.id]);
    await world.passLease(broken.id);
    await world.passLease(job.id);
    const tasks = tasksOf(world.world.replica.deps);
    await expect(tasks.reap_leases?.({}, {} as never)).rejects.toThrow("1 leases cannot be reaped");
    expect(await world.job(job.id)).toMatchObject({ status: "queued" });
    await world.owner.query("update job set resource_type = 'server' where id = $1", [broken.id]);
    await tasks.reap_leases?.({}, {} as never);
    await world.passBackoff();
    await world.agent.work();
  });

  test("expires a lease once, with any number of workers, and never a valid one", async () => {
    const { job } = await world.create();
    await world.agent.take("ServerCreate");
    const tasks = tasksOf(world.world.replica.deps);
    const reap = () => tasks.reap_leases?.({}, {} as never);
    await reap();
    expect((await world.job(job.id)).status).toBe("running");
    await world.passLease(job.id);
    await Promise.all([reap(), reap(), reap()]);
    expect(await world.job(job.id)).toMatchObject({ status: "queued", attempt: 1 });
    await world.passBackoff();
    await world.agent.work();
  });
});

describe("a worker that was killed", () => {
  const hold = (key: string, holder: string, seconds: number) =>
    world.owner
      .query(
        `with added as materialized (
         select graphile_worker.add_job('end_lost_consoles', '{}', queue_name => 'mail', job_key => '${key}')
       )
       select from added`,
      )
      .then(() =>
        world.owner.query(
          `update graphile_worker._private_jobs set locked_by = '${holder}', locked_at = now() - interval '${seconds} seconds'
          where key = '${key}';
         update graphile_worker._private_job_queues set locked_by = '${holder}', locked_at = now() - interval '${seconds} seconds'
          where queue_name = 'mail'`,
        ),
      );
  const held = async () =>
    (
      await world.rows(
        "select key from graphile_worker._private_jobs where key like 'held %' and locked_by is not null order by key",
      )
    ).map(({ key }) => key);

  test("leaves its tasks, and the queue that they block, to the others within minutes", async () => {
    await hold("held by a dead one", "worker-dead", 61);
    const running = await runWorker({
      deps: world.world.replica.deps,
      workerUrl: world.world.database.workerUrl,
    });
    try {
      // The minute's turn may have passed before this worker.
      await tasksOf(world.world.replica.deps).release_tasks?.({}, {
        withPgClient: (use: (client: unknown) => unknown) => use(world.owner),
      } as never);
      const isThere = "select from graphile_worker._private_jobs where key = 'held by a dead one'";
      await expect.poll(() => world.rows(isThere), { timeout: 20_000 }).toEqual([]);
      const [process] = await world.rows("select cardinality(holders) as holders from worker_process");
      expect(process).toEqual({ holders: 3 });
    } finally {
      await running.stop();
    }
  });

  test("is not one that lives, or that has just begun; and leases of regions' jobs are not touched", async () => {
    await hold("held by a live one", "worker-live", 3_600);
    await hold("held just now", "worker-new", 30);
    await world.owner.query(
      "insert into worker_process (id, holders) values ('live', '{worker-other,worker-live}')",
    );
    await world.agent.work();
    const { job } = await world.create();
    await world.agent.take("ServerCreate");
    await world.owner.query(
      "update graphile_worker._private_jobs set locked_at = now() - interval '1 hour' where key = $1",
      [job.id],
    );
    const locked = async () =>
      (await world.rows("select locked_by from graphile_worker._private_jobs where key = $1", [job.id]))[0];
    const before = await locked();
    expect(before?.locked_by).toBeTruthy();
    const release = () => releaseTasksOfTheDead(world.owner, ["end_lost_consoles"]);
    expect(await release()).toBe(0);
    expect(await held()).toEqual(["held by a live one", "held just now"]);
    expect(await locked()).toEqual(before);
    await world.owner.query(
      "update worker_process set seen_at = now() - interval '1 minute' where id = 'live'",
    );
    expect(await release()).toBe(1);
    expect(await held()).toEqual(["held just now"]);
    await world.owner.query("delete from graphile_worker._private_jobs where key like 'held %'");
    await world.owner.query("delete from worker_process where id = 'live'");
    await world.agent.work();
  });
});

describe("cleaning up", () => {
  test("frees VM numbers whose quarantine is over, and no others", async () => {
    await world.owner.query(
      `update region_vmid set state = 'tombstone', free_after = now() - interval '1 second' where vmid = 20900;
       update region_vmid set state = 'tombstone', free_after = now() + interval '1 day' where vmid = 20901;
       update region_vmid set state = 'quarantined', free_after = null where vmid = 20902;`,
    );
    expect((await cleanUp(world.world.replica.deps.db)).vmids).toBe(1);
    const states = await world.rows(
      "select state from region_vmid where vmid between 20900 and 20902 order by vmid",
    );
    expect(states.map((row) => row.state)).toEqual(["free", "tombstone", "quarantined"]);
  });

  test("deletes keys and failed sign-ins after a day", async () => {
    const headers = { "Idempotency-Key": "clean-up" };
    const body = world.body();
    expect((await world.owned.post("/servers", body, headers)).status).toBe(202);
    await world.owner.query(
      `insert into login_failure (subject, at) values ('old', now() - interval '2 days'), ('new', now());
       insert into idempotency_key (organisation_id, subject, method, path, key, request_hash, status, headers, created_at)
       values ('', 's', 'POST', '/', 'old', '', 200, '{}', now() - interval '25 hours');`,
    );
    expect(await cleanUp(world.world.replica.deps.db)).toMatchObject({
      idempotencyKeys: 1,
      loginFailures: 1,
    });
    expect((await world.owned.post("/servers", body, headers)).headers.get("Idempotency-Replayed")).toBe(
      "true",
    );
  });
});
