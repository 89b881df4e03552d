import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { expireRemovalBuffer, sweepRemovalBuffers } from "../../worker/expire-removal-buffer.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open({ addressQuarantineSeconds: 600 });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.passBackoff();
  await world.agent.work();
});

const expire = (serverId: string) =>
  expireRemovalBuffer(world.world.replica.deps, world.organisation.id, serverId);
const usageOf = async (serverId: string) =>
  (await world.owned.get(`/usage?resource=${serverId}`)).body.items.map(
    (event: { kind: string }) => event.kind,
  );

describe("DELETE /servers/{id}", () => {
  test("marks the server, stops it, and says until when it can be restored", async () => {
    const server = await world.createRunning();
    const answer = await world.owned.delete(`/servers/${server.id}`);
    expect(answer.status).toBe(202);
    expect(answer.body.server).toMatchObject({
      status: "pending_deletion",
      name: server.name,
      interfaces: server.interfaces,
      generation: server.generation + 1,
      deletion: { restores_to: "running", requested_by: { type: "token" } },
      actions: { delete: { allowed: false, code: "resource_deleting" }, cancel_deletion: { allowed: true } },
    });
    const { requested_at, purge_at } = answer.body.server.deletion;
    expect((Date.parse(purge_at) - Date.parse(requested_at)) / 3_600_000).toBeCloseTo(72, 1);
    expect(answer.body.job).toMatchObject({ kind: "ServerStop", status: "queued" });

    const stop = await world.agent.take("ServerStop");
    expect(stop.payload.server.id).toBe(server.id);
    await world.agent.succeed(stop, "off");
    expect(await world.server(server.id)).toMatchObject({ status: "pending_deletion", power_state: "off" });
    expect(await usageOf(server.id)).toEqual([
      "disk.allocated",
      "server.started",
      "server.purge_scheduled",
      "server.stopped",
    ]);
  });

  test("is refused for a protected server and for one that is being deleted", async () => {
    const server = await world.createRunning({ protection: { delete: true } });
    const guarded = await world.owned.delete(`/servers/${server.id}`);
    expect([guarded.status, guarded.body.code]).toEqual([409, "protected"]);
    expect(guarded.body.precondition.fix).toContain(`PATCH /servers/${server.id}`);
    const dry = await world.owned.delete(`/servers/${server.id}?dry_run=true`);
    expect(dry.body).toMatchObject({ would: null, blockers: [{ code: "protected" }] });

    await world.owned.patch(`/servers/${server.id}`, { protection: { delete: false } });
    const would = await world.owned.delete(`/servers/${server.id}?dry_run=true`);
    expect(would.body).toMatchObject({
      blockers: [],
      would: { job_kind: "ServerStop", server: { status: "pending_deletion" } },
    });
    expect((await world.server(server.id)).status).toBe("running");
    expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
    const again = await world.owned.delete(`/servers/${server.id}`);
    expect([again.status, again.body.code]).toEqual([409, "resource_deleting"]);
    const changed = await world.owned.patch(`/servers/${server.id}`, { labels: { a: "1" } });
    expect([changed.status, changed.body.code]).toEqual([409, "resource_deleting"]);
  });

  test("checks If-Match before the preconditions", async () => {
    const server = await world.createRunning({ protection: { delete: true } });
    const answer = await world.owned.delete(`/servers/${server.id}`, { "If-Match": '"g99"' });
    expect([answer.status, answer.body.code]).toEqual([412, "precondition_failed"]);
  });

  test("replays under its key and marks once", async () => {
    const server = await world.createRunning();
    const headers = { "Idempotency-Key": `delete-${server.id}` };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world.owned.delete(`/servers/${server.id}`, headers)),
    );
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.job?.id}`)).size).toBe(1);
  });
});

describe("a delete while the server is being created", () => {
  test("cancels a create that waits", async () => {
    const { server, job } = await world.create();
    const answer = await world.owned.delete(`/servers/${server.id}`);
    expect(answer.body.server).toMatchObject({
      status: "pending_deletion",
      deletion: { restores_to: "error" },
    });
    expect(await world.job(job.id)).toMatchObject({ status: "cancelled", error: { code: "superseded" } });
    await world.agent.succeed(await world.agent.take("ServerStop"), "off");
    expect(await world.agent.claim()).toBeNull();
    expect(await usageOf(server.id)).toEqual(["server.purge_scheduled"]);
  });

  test("requests the cancel of a running create, and waits behind it", async () => {
    const { server, job } = await world.create();
    const create = await world.agent.take("ServerCreate");
    const answer = await world.owned.delete(`/servers/${server.id}`);
    expect(answer.body.job).toMatchObject({ kind: "ServerStop", status: "queued", queued_behind: job.id });
    expect((await world.agent.report(create, { phase: "apply" })).body.cancel_requested).toBe(true);
    await world.agent.end(create, { status: "cancelled" });
    expect(await world.job(job.id)).toMatchObject({ status: "cancelled", done: true });
    expect(await world.server(server.id)).toMatchObject({ status: "pending_deletion" });
    expect((await world.agent.take("ServerStop")).payload.server.id).toBe(server.id);
  });

  test("keeps what a create that could not stop has created, for an undo", async () => {
    const { server } = await world.create();
    const create = await world.agent.take("ServerCreate");
    await world.agent.report(create, { irreversible: true });
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.succeed(create);
    expect(await world.server(server.id)).toMatchObject({
      status: "pending_deletion",
      deletion: { restores_to: "running" },
    });
    await world.agent.succeed(await world.agent.take("ServerStop"), "off");
    expect(await usageOf(server.id)).toEqual([
      "server.purge_scheduled",
      "disk.allocated",
      "server.started",
      "server.stopped",
    ]);
  });

  test("ends a create whose attempt fails: it does not wait next to the stop", async () => {
    const { server, job } = await world.create();
    const create = await world.agent.take("ServerCreate");
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.end(create, { status: "retry", error: { code: "node_unreachable", message: "pve1" } });
    expect(await world.job(job.id)).toMatchObject({ status: "cancelled" });
    expect((await world.agent.take("ServerStop")).payload.server.id).toBe(server.id);
  });

  test("is accepted for a server whose create failed, and leaves nothing behind", async () => {
    const { server } = await world.create();
    await world.agent.fail(await world.agent.take("ServerCreate"));
    expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
    await world.agent.succeed(await world.agent.take("ServerStop"), "off");
    await world.passBuffer(server.id);
    expect(await expire(server.id)).toBe(true);
    await world.agent.succeed(await world.agent.take("ServerDestroy"), "off");
    expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
    const [held] = await world.rows(
      `select (select count(*)::int from nic where server_id = $1) as nics,
              (select count(*)::int from server_secret where server_id = $1) as secrets,
              (select count(*)::int from region_vmid where server_id = $1 and state = 'used') as vmids`,
      [server.id],
    );
    expect(held).toEqual({ nics: 0, secrets: 0, vmids: 0 });
  });
});

describe("POST /servers/{id}/cancel-deletion", () => {
  test("restores a running server", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.succeed(await world.agent.take("ServerStop"), "off");
    const answer = await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      server: { status: "starting", deletion: null },
      job: { kind: "ServerRestore", status: "queued" },
    });
    const restore = await world.agent.take("ServerRestore");
    expect(restore.payload.start).toBe(true);
    await world.agent.succeed(restore, "on");
    const after = await world.server(server.id);
    expect(after).toMatchObject({
      status: "running",
      power_state: "on",
      interfaces: server.interfaces,
      deletion: null,
    });
    expect(after.observed_generation).toBe(after.generation);
    expect((await usageOf(server.id)).slice(-2)).toEqual(["server.stopped", "server.started"]);
    await world.passBuffer(server.id);
    expect(await expire(server.id)).toBe(false);
  });

  test("leaves a server off that was off", async () => {
    const server = await world.createRunning({ start: false });
    expect(server.status).toBe("stopped");
    await world.owned.delete(`/servers/${server.id}`);
    const answer = await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect(answer.body.server.status).toBe("stopped");
    const restore = await world.agent.take("ServerRestore");
    expect(restore.payload.start).toBe(false);
    await world.agent.succeed(restore, "off");
    expect((await world.server(server.id)).status).toBe("stopped");
  });

  test("cancels the stop that still waits", async () => {
    const server = await world.createRunning();
    const { job } = (await world.owned.delete(`/servers/${server.id}`)).body;
    await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect(await world.job(job.id)).toMatchObject({ status: "cancelled", error: { code: "superseded" } });
    expect((await world.agent.claim())?.kind).toBe("ServerRestore");
  });

  test("runs after the stop that is under way", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    const stop = await world.agent.take("ServerStop");
    const { job } = (await world.owned.post(`/servers/${server.id}/cancel-deletion`)).body;
    expect(job.queued_behind).toBe(stop.id);
    expect(await world.agent.claim()).toBeNull();
    await world.agent.succeed(stop, "off");
    expect(await world.server(server.id)).toMatchObject({ status: "starting", power_state: "off" });
    await world.agent.succeed(await world.agent.take("ServerRestore"), "on");
    expect((await world.server(server.id)).status).toBe("running");
  });

  test("of a server that was never created leads to error, and the create can be retried", async () => {
    const { server, job, console_password } = await world.create();
    expect(console_password).not.toBeNull();
    await world.owned.delete(`/servers/${server.id}`);
    const undone = await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect(undone.body).toMatchObject({
      server: { status: "error", status_reason: { code: "create_cancelled" } },
      job: { kind: "ServerRestore", status: "succeeded", done: true },
    });
    expect(await world.agent.claim()).toBeNull();
    const retried = await world.owned.post(`/jobs/${job.id}/retry`);
    expect([retried.status, retried.body.status]).toEqual([202, "queued"]);
    expect((await world.server(server.id)).status).toBe("creating");
    const create = await world.agent.take("ServerCreate");
    expect(create.payload.password_hash).toMatch(/^\$6\$/);
    await world.agent.succeed(create);
    expect((await world.server(server.id)).status).toBe("running");
  });

  test("is refused for a server that is not marked, and for one that is being destroyed", async () => {
    const server = await world.createRunning();
    const kept = await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect([kept.status, kept.body.code, kept.body.current_status]).toEqual([
      409,
      "invalid_state",
      "running",
    ]);
    await world.owned.delete(`/servers/${server.id}`);
    await world.passBuffer(server.id);
    await expire(server.id);
    const late = await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect([late.status, late.body.code]).toEqual([409, "resource_deleting"]);
    const dry = await world.owned.post(`/servers/${server.id}/cancel-deletion?dry_run=true`);
    expect(dry.body.blockers).toMatchObject([{ code: "resource_deleting" }]);
  });
});

describe("the end of the removal buffer", () => {
  test("never happens before its time", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    expect(await expire(server.id)).toBe(false);
    expect(await sweepRemovalBuffers(world.world.replica.deps)).toBe(0);
    expect((await world.server(server.id)).status).toBe("pending_deletion");
  });

  test("destroys the server, releases what it had, and hides it from callers", async () => {
    const server = await world.createRunning();
    const [{ vmid }] = await world.rows("select vmid from region_vmid where server_id = $1", [server.id]);
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.work();
    await world.passBuffer(server.id);
    expect(await sweepRemovalBuffers(world.world.replica.deps)).toBe(1);
    expect(await world.server(server.id)).toMatchObject({ status: "deleting", deletion: expect.any(Object) });
    const taken = await world.owned.post("/servers", world.body({ name: server.name }));
    expect(taken.body.code).toBe("name_taken");

    const destroy = await world.agent.take("ServerDestroy");
    expect(destroy.payload).toMatchObject({ server: { id: server.id, name: server.name }, vmid });
    await world.agent.succeed(destroy, "off");
    expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
    const listed = (await world.owned.get("/servers?limit=200")).body.items;
    expect(listed.some((each: { id: string }) => each.id === server.id)).toBe(false);
    expect((await usageOf(server.id)).slice(-2)).toEqual(["disk.released", "server.purged"]);
    const [rest] = await world.rows(
      `select v.state, v.free_after > now() + interval '29 days' as rests, a.state as address, a.nic_id,
              a.free_after between now() + interval '9 minutes' and now() + interval '11 minutes' as waits
         from region_vmid v, address a where v.region = 'ist1' and v.vmid = $1 and a.address = $2::inet
          and a.subnet_id = $3`,
      [vmid, server.interfaces[0].private_ip, server.interfaces[0].subnet_id],
    );
    expect(rest).toEqual({
      state: "tombstone",
      rests: true,
      address: "quarantined",
      nic_id: null,
      waits: true,
    });

    const successor = await world.create({ name: server.name });
    expect(successor.server.interfaces[0].private_ip).not.toBe(server.interfaces[0].private_ip);
    expect((await world.agent.take("ServerCreate")).payload.vmid).not.toBe(vmid);
  });

  test("supersedes a stop that could not run, and waits for an unreachable region", async () => {
    const server = await world.createRunning();
    await world.world.operator.patch("/regions/ist1", { maintenance: true });
    const { job } = (await world.owned.delete(`/servers/${server.id}`)).body;
    await world.owner.query("update region set health_at = now() - interval '1 hour' where slug = 'ist1'");
    await world.passBuffer(server.id);
    expect(await expire(server.id)).toBe(true);
    expect(await world.server(server.id)).toMatchObject({
      status: "deleting",
      status_reason: { code: "region_unreachable" },
    });
    expect(await world.job(job.id)).toMatchObject({ status: "cancelled" });
    expect(await world.agent.claim()).toBeNull();
    await world.world.operator.patch("/regions/ist1", { maintenance: false });
    await world.agent.succeed(await world.agent.take("ServerDestroy"), "off");
    expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
  });

  test("leaves a destroy that failed to be retried", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.work();
    await world.passBuffer(server.id);
    await expire(server.id);
    const destroy = await world.agent.take("ServerDestroy");
    await world.agent.fail(destroy, "vm_is_foreign");
    expect(await world.server(server.id)).toMatchObject({
      status: "deleting",
      status_reason: { code: "destroy_failed", message: expect.stringContaining("could not do this") },
    });
    expect((await world.owned.post(`/jobs/${destroy.id}/retry`)).status).toBe(202);
    await world.agent.succeed(await world.agent.take("ServerDestroy"), "off");
    expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
  });

  test("and a cancel at the same moment: exactly one of them wins, 200 times", {
    timeout: 120_000,
  }, async () => {
    const trials = 200;
    const network = await world.owned.post("/networks", { name: "races", region: "ist1" });
    const { body } = await world.owned.post(`/networks/${network.body.network.id}/subnets`, {
      name: "races",
      tier: "app",
      cidr: network.body.network.cidr.replace("/16", "/22"),
    });
    const { rows } = await world.owner.query(
      `with numbers as (
         update region_vmid set state = 'used', server_id = 'srv_' || lpad((vmid - 20700)::text, 26, '0')
          where region = 'ist1' and vmid between 20701 and 20700 + $2),
       nics as (
         insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
         select 'nic_' || n, $1, 'ist1', 'srv_' || lpad(n::text, 26, '0'), $3, ('02' || substr(md5(n::text), 1, 10))::macaddr
           from generate_series(1, $2) n),
       addresses as (
         insert into address (subnet_id, address, organisation_id, state, nic_id)
         select id, gateway_ip + n, organisation_id, 'used', 'nic_' || n from subnet, generate_series(1, $2) n
          where id = $3),
       made as (
         insert into server (id, organisation_id, region, name, status, image, package, power_state, purge_at,
                             restores_to, deletion_requested_at, deletion_requested_by, observed_generation)
         select 'srv_' || lpad(n::text, 26, '0'), $1, 'ist1', 'race-' || n, 'pending_deletion',
                'debian-13', 's', 'off', clock_timestamp(), 'running', clock_timestamp(),
                '{"type":"system","id":null,"name":null}', 1
           from generate_series(1, $2::integer) n returning id)
       select id from made`,
      [world.organisation.id, trials, body.subnet.id],
    );
    const wins = { cancel: 0, expiry: 0 };
    for (const [trial, { id }] of rows.entries()) {
      const cancel = () => world.owned.post(`/servers/${id}/cancel-deletion`);
      // Which one starts first changes with the trial, so that both orders and the overlap occur.
      const [cancelled, expired] =
        trial % 2 === 0
          ? await Promise.all([cancel(), expire(id)])
          : await Promise.all([expire(id), cancel()]).then(([second, first]) => [first, second] as const);
      expect([cancelled.status === 202, expired].filter(Boolean)).toHaveLength(1);
      wins[expired ? "expiry" : "cancel"] += 1;
      const jobs = await world.rows("select kind from job where resource_id = $1", [id]);
      const [server] = await world.rows("select status from server where id = $1", [id]);
      expect({ server, jobs }).toEqual(
        expired
          ? { server: { status: "deleting" }, jobs: [{ kind: "ServerDestroy" }] }
          : { server: { status: "starting" }, jobs: [{ kind: "ServerRestore" }] },
      );
    }
    console.log(`200 races: cancel won ${wins.cancel}, expiry won ${wins.expiry}`);
  });
});
