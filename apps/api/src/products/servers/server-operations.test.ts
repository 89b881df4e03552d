import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { expireRemovalBuffer, sweepRemovalBuffers } from "../../worker/expire-removal-buffer.ts";

let world: ServerWorld;
let operator: ApiCaller;
beforeAll(async () => {
  world = await ServerWorld.open();
  operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
  await world.rows("update region set agent_public_key = $1", [Buffer.alloc(32, 9).toString("base64")]);
});
afterAll(() => world.close());
afterEach(async () => {
  await world.passBackoff();
  await world.agent.work();
});

/** Lets a request read the server as it is, and lock it only once it has been changed. */
async function changedMeanwhile<Answer>(
  id: string,
  change: string,
  request: () => Promise<Answer>,
): Promise<Answer> {
  const holder = await world.owner.connect();
  try {
    await holder.query("begin");
    await holder.query(`update server set ${change} where id = $1`, [id]);
    const answer = request();
    const waits = () =>
      world.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%server%'");
    while ((await waits()).length === 0);
    await holder.query("commit");
    return await answer;
  } finally {
    holder.release();
  }
}

const secrets = (id: string) => world.rows("select * from server_secret where server_id = $1", [id]);

describe("POST /servers/{id}/rebuild", () => {
  const rebuild = (id: string, body: object, query = "") =>
    world.owned.post(`/servers/${id}/rebuild${query}`, body);

  test("rebuilds the server from an image, with all its allocations", async () => {
    const server = await world.createRunning({ package: "m" });
    const answer = await rebuild(server.id, { image: "ubuntu-24.04", confirm_name: server.name });
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      server: { status: "rebuilding", image: { slug: "debian-13" }, interfaces: server.interfaces },
      job: { kind: "ServerRebuild" },
      console_password: expect.stringMatching(/^[A-Za-z0-9]{20}$/),
    });
    const job = await world.agent.take("ServerRebuild");
    const [{ vmid }] = await world.rows("select vmid from region_vmid where server_id = $1", [server.id]);
    expect(job.payload).toMatchObject({
      template: "ubuntu-24.04",
      vmid,
      package: { vcpu: 2, disk_gb: 80 },
      password_hash: expect.stringMatching(/^\$6\$/),
      start: true,
    });
    expect(job.payload.interfaces[0]).toMatchObject({ mac: server.interfaces[0].mac });
    await world.agent.succeed(job, "on");
    expect(await world.server(server.id)).toMatchObject({
      status: "running",
      image: { slug: "ubuntu-24.04" },
      interfaces: server.interfaces,
    });
    expect(await secrets(server.id)).toEqual([]);
  });

  test("requires the name repeated, an image that fits, and no protection", async () => {
    const server = await world.createRunning({ package: "s" });
    const wrong = await rebuild(server.id, {
      image: "windows-2022",
      confirm_name: "another",
      ssh_key_ids: ["key_1"],
    });
    expect(
      wrong.body.errors.map((error: { field: string; code: string }) => [error.field, error.code]),
    ).toEqual(
      expect.arrayContaining([
        ["image", "os_plan_mismatch"],
        ["confirm_name", "conflicts_with"],
        ["ssh_key_ids", "conflicts_with"],
      ]),
    );
    await world.owned.patch(`/servers/${server.id}`, { protection: { rebuild: true } });
    const body = { image: "debian-13", confirm_name: server.name };
    const refused = await rebuild(server.id, body);
    expect([refused.status, refused.body.code]).toEqual([409, "protected"]);
    expect(refused.body.precondition.fix).toContain('{"protection":{"rebuild":false}}');
    expect((await world.owned.delete(`/servers/${server.id}?dry_run=true`)).body.blockers).toEqual([]);
    await world.owned.patch(`/servers/${server.id}`, { protection: { rebuild: false } });
    const would = await rebuild(server.id, body, "?dry_run=true");
    expect(would.body.would).toMatchObject({ job_kind: "ServerRebuild" });
    expect(await secrets(server.id)).toEqual([]);
  });

  test("that failed after the disk was destroyed leaves an error that a retry fixes, with the password that was shown", async () => {
    const server = await world.createRunning();
    const { body } = await rebuild(server.id, { image: "debian-12", confirm_name: server.name });
    const first = await world.agent.take("ServerRebuild");
    await world.agent.report(first, { phase: "apply", irreversible: true });
    await world.agent.fail(first);
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "rebuild_failed" },
      actions: { rebuild: { allowed: true }, resize: { allowed: false } },
    });
    await world.owned.post(`/jobs/${body.job.id}/retry`);
    const again = await world.agent.take("ServerRebuild");
    expect(again.payload.password_hash).toBe(first.payload.password_hash);
    await world.agent.succeed(again, "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running", image: { slug: "debian-12" } });
  });

  test("that is retried and fails before it does anything leaves no server that counts as intact", async () => {
    const server = await world.createRunning();
    const { job } = (await rebuild(server.id, { image: "debian-12", confirm_name: server.name })).body;
    const first = await world.agent.take("ServerRebuild");
    await world.agent.report(first, { phase: "apply", irreversible: true });
    await world.agent.fail(first);
    const broken = { status: "error", status_reason: { code: "rebuild_failed" } };
    // Failed before its first observation; cancelled while it waits.
    await world.owned.post(`/jobs/${job.id}/retry`);
    await world.agent.fail(await world.agent.take("ServerRebuild"));
    expect(await world.server(server.id)).toMatchObject(broken);
    await world.owned.post(`/jobs/${job.id}/retry`);
    expect((await world.owned.post(`/jobs/${job.id}/cancel`)).status).toBe(202);
    expect(await world.server(server.id)).toMatchObject(broken);
    expect(await secrets(server.id)).toHaveLength(1);
    await world.owned.post(`/jobs/${job.id}/retry`);
    const last = await world.agent.take("ServerRebuild");
    expect(last.payload.password_hash).toBe(first.payload.password_hash);
    await world.agent.succeed(last, "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running", image: { slug: "debian-12" } });
  });

  test("of a server without a disk that fails before it does anything leaves it in error, to be retried", async () => {
    const server = await world.createRunning();
    await rebuild(server.id, { image: "debian-12", confirm_name: server.name });
    const first = await world.agent.take("ServerRebuild");
    await world.agent.report(first, { phase: "apply", irreversible: true });
    await world.agent.fail(first);
    const { job } = (await rebuild(server.id, { image: "debian-13", confirm_name: server.name })).body;
    const another = await world.agent.take("ServerRebuild");
    expect(another.payload.password_hash).not.toBe(first.payload.password_hash);
    await world.agent.fail(another);
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "rebuild_failed" },
      actions: { resize: { allowed: false } },
    });
    expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
    const again = await world.agent.take("ServerRebuild");
    expect(again.payload.password_hash).toBe(another.payload.password_hash);
    await world.agent.succeed(again, "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running" });
  });

  test("that broke its server cannot be retried, and its password is wiped, once the server was used again", async () => {
    const server = await world.createRunning();
    const { job } = (await rebuild(server.id, { image: "debian-12", confirm_name: server.name })).body;
    const broken = await world.agent.take("ServerRebuild");
    await world.agent.report(broken, { phase: "apply", irreversible: true });
    await world.agent.fail(broken);
    expect(await secrets(server.id)).toHaveLength(1);
    expect((await world.owned.get(`/jobs/${job.id}`)).body.retryable).toBe(true);

    await world.owned.post(`/servers/${server.id}/power`, { action: "start" });
    await world.agent.succeed(await world.agent.take("ServerPower"), "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running" });
    expect(await secrets(server.id)).toEqual([]);
    // Even in error again: a retry would destroy a disk in use, and set no password.
    await world.rows("update server set status = 'error' where id = $1", [server.id]);
    expect((await world.owned.get(`/jobs/${job.id}`)).body.retryable).toBe(false);
    expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(409);
    await world.rows("update server set status = 'running' where id = $1", [server.id]);
  });

  test("that broke its server can be retried after a power action that failed", async () => {
    const server = await world.createRunning();
    const { job } = (await rebuild(server.id, { image: "debian-12", confirm_name: server.name })).body;
    const broken = await world.agent.take("ServerRebuild");
    await world.agent.report(broken, { phase: "apply", irreversible: true });
    await world.agent.fail(broken);
    const start = () => world.owned.post(`/servers/${server.id}/power`, { action: "start" });

    await start();
    await world.agent.fail(await world.agent.take("ServerPower"), "region_busy");
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "power_failed" },
    });
    const given = (await start()).body.job;
    expect((await world.owned.post(`/jobs/${given.id}/cancel`)).status).toBe(202);
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "rebuild_failed" },
      actions: { rebuild: { allowed: true }, resize: { allowed: false } },
    });
    expect(await secrets(server.id)).toHaveLength(1);
    expect((await world.owned.get(`/jobs/${job.id}`)).body.retryable).toBe(true);
    expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
    const again = await world.agent.take("ServerRebuild");
    expect(again.payload.password_hash).toBe(broken.payload.password_hash);
    await world.agent.succeed(again, "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running", image: { slug: "debian-12" } });
    // Intact again: the next failed action is handled as on any other server.
    await world.owned.post(`/servers/${server.id}/power`, { action: "stop" });
    await world.agent.fail(await world.agent.take("ServerPower"), "region_busy");
    expect(await world.server(server.id)).toMatchObject({ status: "running" });
  });

  test("that broke its server can be retried after a firewall job", async () => {
    const server = await world.createRunning();
    const { job } = (await rebuild(server.id, { image: "debian-12", confirm_name: server.name })).body;
    const broken = await world.agent.take("ServerRebuild");
    await world.agent.report(broken, { phase: "apply", irreversible: true });
    await world.agent.fail(broken);
    // Only servers that exist get jobs for their firewalls.
    await world.rows("update server set status = 'running' where id = $1", [server.id]);
    const { body } = await world.owned.post("/firewalls", {
      name: "round",
      region: world.region,
      rules: [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }] }],
    });
    await world.owned.post(`/firewalls/${body.firewall.id}/attachments`, { server_id: server.id });
    await world.agent.succeed(await world.agent.take("FirewallApply"), "off");
    await world.rows("update server set status = 'error' where id = $1", [server.id]);
    expect(await secrets(server.id)).toHaveLength(1);
    expect((await world.owned.get(`/jobs/${job.id}`)).body.retryable).toBe(true);
    expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
    const again = await world.agent.take("ServerRebuild");
    expect(again.payload.password_hash).toBe(broken.payload.password_hash);
    await world.agent.succeed(again, "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running", image: { slug: "debian-12" } });
  });

  test("that destroyed nothing does not repair what a job of its firewalls has found", async () => {
    const server = await world.createRunning();
    const { job } = (await rebuild(server.id, { image: "debian-12", confirm_name: server.name })).body;
    await world.agent.fail(await world.agent.take("ServerRebuild"));
    const { body } = await world.owned.post("/firewalls", {
      name: "missing",
      region: world.region,
      rules: [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }] }],
    });
    await world.owned.post(`/firewalls/${body.firewall.id}/attachments`, { server_id: server.id });
    await world.agent.fail(await world.agent.take("FirewallApply"), "vm_missing");
    expect(await world.server(server.id)).toMatchObject({ status: "error" });
    // It would set no password: the one that it had was never shown.
    expect((await world.owned.get(`/jobs/${job.id}`)).body.retryable).toBe(false);
    expect((await world.owned.post(`/jobs/${job.id}/retry`)).status).toBe(409);
  });

  test("that failed before anything was destroyed leaves the server as it was", async () => {
    const server = await world.createRunning();
    await rebuild(server.id, { image: "debian-12", confirm_name: server.name });
    await world.agent.fail(await world.agent.take("ServerRebuild"));
    expect(await world.server(server.id)).toMatchObject({
      status: "running",
      image: { slug: "debian-13" },
      status_reason: { code: "rebuild_failed" },
    });
    expect(await secrets(server.id)).toEqual([]);
  });
});

describe("a server that another request has changed since it was found", () => {
  test("is not rebuilt under the name that it had, nor to an image that it is too small for", async () => {
    const server = await world.createRunning({ package: "l" });
    const ask = (body: object) => () => world.owned.post(`/servers/${server.id}/rebuild`, body);
    const renamed = await changedMeanwhile(
      server.id,
      "name = 'precious'",
      ask({ image: "debian-12", confirm_name: server.name }),
    );
    expect([renamed.status, renamed.body.errors]).toMatchObject([422, [{ field: "confirm_name" }]]);
    const shrunk = await changedMeanwhile(
      server.id,
      "package = 's', disk_gb = null",
      ask({ image: "windows-2022", confirm_name: "precious" }),
    );
    expect([shrunk.status, shrunk.body.errors]).toMatchObject([422, [{ field: "image" }]]);
    expect((await world.server(server.id)).status).toBe("running");
  });

  test("is not made too small for its new system", async () => {
    const server = await world.createRunning({ package: "l" });
    const answer = await changedMeanwhile(server.id, "image = 'windows-2022'", () =>
      world.owned.post(`/servers/${server.id}/resize`, {
        package: "s",
        grow_disk: false,
        allow_restart: true,
      }),
    );
    expect([answer.status, answer.body.errors]).toMatchObject([422, [{ field: "package" }]]);
  });
});

describe("POST /servers/{id}/password-reset", () => {
  const reset = (id: string, body: object = {}, caller = world.owned) =>
    caller.post(`/servers/${id}/password-reset`, body);

  test("shows a password once and hands the region its hash", async () => {
    const server = await world.createRunning();
    const key = { "Idempotency-Key": `reset-${server.id}` };
    const answer = await reset(server.id, {}, world.owned.with(key));
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      server: { status: "running", job_id: answer.body.job.id },
      job: { kind: "ServerPasswordReset" },
      username: "debian",
      password: expect.stringMatching(/^[A-Za-z0-9]{20}$/),
    });
    const replay = await reset(server.id, {}, world.owned.with(key));
    expect(replay.body).toMatchObject({ password: null, secret_withheld: true });
    const job = await world.agent.take("ServerPasswordReset");
    expect(job.payload).toMatchObject({ username: "debian", when: "now", sealed_password: null });
    expect(JSON.stringify(job)).not.toContain(answer.body.password);
    const [kept] = await world.rows("select to_jsonb(j)::text as row from job j where id = $1", [job.id]);
    expect(kept.row).not.toContain(answer.body.password);
    await world.agent.end(job, { status: "succeeded", observed: { power_state: "on" } });
    expect(await secrets(server.id)).toEqual([]);
    expect((await world.server(server.id)).status).toBe("running");
  });

  test("needs a running guest, or its next start and the image's own login name", async () => {
    const server = await world.createRunning({ start: false });
    const now = await reset(server.id);
    expect([now.status, now.body.code]).toEqual([409, "guest_agent_unavailable"]);
    expect(now.body.precondition.fix).toContain('"when":"next_boot"');
    const other = await reset(server.id, { when: "next_boot", username: "root" });
    expect(other.body.errors).toMatchObject([{ field: "username", code: "conflicts_with" }]);
    expect((await reset(server.id, { when: "next_boot" })).status).toBe(202);
    const job = await world.agent.take("ServerPasswordReset");
    await world.agent.fail(job, "guest_agent_unavailable");
    expect(await world.server(server.id)).toMatchObject({
      status: "stopped",
      status_reason: { code: "password_reset_failed" },
    });
    expect(await secrets(server.id)).toEqual([]);
  });

  test("uses the latest report about the guest agent, and no older one", async () => {
    const server = await world.createRunning();
    const seen = (agent: boolean, secondsAgo: number) =>
      world.rows("update server set guest = $2 where id = $1", [
        server.id,
        JSON.stringify({
          agent,
          cloud_init: "done",
          os: null,
          hostname: null,
          addresses: [],
          boot_at: null,
          agent_at: new Date(Date.now() - secondsAgo * 1000).toISOString(),
        }),
      ]);
    await world.rows("update region set health_at = now(), health_ok = true");
    await seen(false, 2);
    const shown = await world.server(server.id);
    expect(shown.actions.password_reset.allowed).toBe(true);
    expect(shown.actions.password_reset_now).toMatchObject({
      allowed: false,
      code: "guest_agent_unavailable",
    });
    expect(shown.guest).not.toHaveProperty("agent_at");
    const refused = await reset(server.id);
    expect([refused.status, refused.body.code]).toEqual([409, "guest_agent_unavailable"]);
    expect(refused.body.precondition.fix).toContain('"when":"next_boot"');
    for (const [agent, secondsAgo] of [
      [false, 3_600],
      [true, 2],
    ] as const) {
      await seen(agent, secondsAgo);
      expect((await world.server(server.id)).actions.password_reset_now.allowed).toBe(true);
    }
    await seen(false, 2);
    expect((await reset(server.id, { when: "next_boot" })).status).toBe(202);
    await world.agent.succeed(await world.agent.take("ServerPasswordReset"), "on");
    // The job may have changed what answers: that is unknown until the next scan.
    expect((await world.server(server.id)).actions.password_reset_now.allowed).toBe(true);
    await world.rows("update region set health_at = null");
  });

  test("seals the password of a Windows server to the region's agent", async () => {
    const server = await world.createRunning({ image: "windows-2022", package: "l" });
    await reset(server.id);
    const { payload } = await world.agent.take("ServerPasswordReset");
    expect(payload).toMatchObject({ os_family: "windows", username: "Administrator", password_hash: null });
    expect(payload.sealed_password).toBeTruthy();
  });

  test("has no next start for a Windows: its password would lie on the drive for everybody to read", async () => {
    const server = await world.createRunning({ image: "windows-2022", package: "l" });
    const refused = await reset(server.id, { when: "next_boot" });
    expect([refused.status, refused.body.errors]).toMatchObject([
      422,
      [{ field: "when", code: "not_one_of", message: expect.stringContaining("guest agent") }],
    ]);
    expect(await secrets(server.id)).toEqual([]);
    await world.owned.post(`/servers/${server.id}/power`, { action: "stop" });
    await world.agent.work();
    const { actions } = await world.server(server.id);
    for (const action of [actions.password_reset, actions.password_reset_now])
      expect(action).toMatchObject({ allowed: false, code: "guest_agent_unavailable" });
    const stopped = await reset(server.id);
    expect(stopped.body.precondition.fix).toBe(`POST /servers/${server.id}/power {"action":"start"}`);
  });

  test("is refused for the next start of a server that was rebuilt as a Windows meanwhile", async () => {
    const server = await world.createRunning({ package: "l" });
    const answer = await changedMeanwhile(server.id, "image = 'windows-2022'", () =>
      reset(server.id, { when: "next_boot" }),
    );
    expect([answer.status, answer.body.errors]).toMatchObject([422, [{ field: "when" }]]);
  });
});

describe("PATCH /servers/{id}", () => {
  const patch = (id: string, body: object) => world.owned.patch(`/servers/${id}`, body);

  test("renames with a job, and reserves the name at once", async () => {
    const server = await world.createRunning();
    const answer = await patch(server.id, { name: "db-1", labels: { role: "db" } });
    expect([answer.status, answer.body.server.name, answer.body.job.kind]).toEqual([
      202,
      "db-1",
      "ServerUpdate",
    ]);
    expect(answer.body.server).toMatchObject({ hostname: "db-1", labels: { role: "db" }, status: "running" });
    expect((await world.owned.post("/servers", world.body({ name: "db-1" }))).body.code).toBe("name_taken");
    expect((await world.owned.post("/servers", world.body({ name: server.name }))).status).toBe(202);
    const job = await world.agent.take("ServerUpdate");
    expect(job.payload.server.name).toBe("db-1");
    await world.agent.succeed(job, "on");
    expect(await world.server(server.id)).toMatchObject({ status: "running", job_id: null });
    const taken = await patch(server.id, { name: server.name });
    expect([taken.status, taken.body.code]).toEqual([409, "name_taken"]);
    expect((await patch(server.id, { name: "1234" })).body.errors).toMatchObject([
      { code: "invalid_format" },
    ]);
    // Its own name is no change for the region.
    expect((await patch(server.id, { name: "db-1" })).status).toBe(200);
  });
});

describe("an operator's lock", () => {
  test("refuses every change in the operator's words, and only operators have it", async () => {
    const server = await world.createRunning();
    expect((await world.owned.post(`/servers/${server.id}/lock`, { reason: "mine" })).body).toMatchObject({
      code: "forbidden",
      required: ["operator:servers"],
    });
    const locked = await operator.post(`/servers/${server.id}/lock`, { reason: " Abuse report 7 " });
    expect(locked.body.locked).toMatchObject({ reason: "Abuse report 7", by: { type: "operator" } });
    expect(locked.body.generation).toBe(locked.body.observed_generation);
    const { actions } = await world.server(server.id);
    for (const state of Object.values(actions))
      expect(state).toMatchObject({ allowed: false, code: "locked" });
    const attempts = [
      world.owned.post(`/servers/${server.id}/power`, { action: "stop" }),
      world.owned.post(`/servers/${server.id}/resize`, { package: "m", allow_restart: true }),
      world.owned.post(`/servers/${server.id}/rebuild`, { image: "debian-13", confirm_name: server.name }),
      world.owned.post(`/servers/${server.id}/password-reset`, {}),
      world.owned.patch(`/servers/${server.id}`, { labels: { a: "b" } }),
      world.owned.delete(`/servers/${server.id}`),
      operator.delete(`/servers/${server.id}?purge=true`),
    ];
    for (const answer of await Promise.all(attempts)) {
      expect([answer.status, answer.body.code]).toEqual([409, "locked"]);
      expect(answer.body.detail).toContain("Abuse report 7");
    }
    const unlocked = await operator.post(`/servers/${server.id}/unlock`);
    expect(unlocked.body.locked).toBeNull();
    expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
  });

  test("defers the end of a removal buffer", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.work();
    await operator.post(`/servers/${server.id}/lock`, { reason: "evidence" });
    await world.passBuffer(server.id);
    const { deps } = world.world.replica;
    expect(await expireRemovalBuffer(deps, world.organisation.id, server.id)).toBe(false);
    expect(await sweepRemovalBuffers(deps)).toBe(0);
    const kept = await world.owned.post(`/servers/${server.id}/cancel-deletion`);
    expect(kept.body.code).toBe("locked");
    await operator.post(`/servers/${server.id}/unlock`);
    expect(await sweepRemovalBuffers(deps)).toBe(1);
    expect((await world.server(server.id)).status).toBe("deleting");
  });
});

describe("DELETE /servers/{id}?purge=true", () => {
  test("destroys at once what is running, and what waits in the buffer", async () => {
    for (const isMarked of [false, true]) {
      const server = await world.createRunning();
      if (isMarked) {
        await world.owned.delete(`/servers/${server.id}`);
        await world.agent.work();
      }
      const answer = await world.owned.delete(`/servers/${server.id}?purge=true`);
      expect(answer.status).toBe(202);
      expect(answer.body.server).toMatchObject({ status: "deleting", deletion: { restores_to: "running" } });
      expect(answer.body.job.kind).toBe("ServerDestroy");
      expect(Date.parse(answer.body.server.deletion.purge_at)).toBeLessThanOrEqual(
        Date.parse(answer.body.job.created_at),
      );
      expect((await world.owned.post(`/servers/${server.id}/cancel-deletion`)).body.code).toBe(
        "resource_deleting",
      );
      await world.agent.work();
      expect((await world.owned.get(`/servers/${server.id}`)).status).toBe(404);
    }
  });

  test("needs server:purge, which is checked before whether there is such a server", async () => {
    const server = await world.createRunning();
    const member = await world.world.addToken(world.organisation.id, "member");
    for (const id of [server.id, "srv_00000000000000000000000000", "nonsense"]) {
      const answer = await member.delete(`/servers/${id}?purge=true`);
      expect([answer.status, answer.body.required]).toEqual([403, ["server:purge"]]);
    }
    expect((await member.delete(`/servers/${server.id}`)).status).toBe(202);
  });

  test("is refused for a protected server", async () => {
    const server = await world.createRunning({ protection: { delete: true } });
    const answer = await world.owned.delete(`/servers/${server.id}?purge=true`);
    expect([answer.status, answer.body.code]).toEqual([409, "protected"]);
  });
});
