import { randomUUID } from "node:crypto";
import { validateJobPayload } from "@kule/contract/validate";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { jobHandlers } from "../products/job-handlers.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { ServerWorld } from "../testing/server-world.ts";
import { TestAgent } from "../testing/test-agent.ts";
import { expireLeases } from "../worker/expire-leases.ts";
import { expireRemovalBuffer } from "../worker/expire-removal-buffer.ts";

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

const claimedId = async (agent: TestAgent, claimId: string) =>
  (await agent.claimRaw({ claim_id: claimId })).body?.job?.id ?? null;

describe("claiming", () => {
  test("assigns a job with a payload that is rendered from the present intent", async () => {
    const { server, job } = await world.create({ package: "l", labels: { role: "db" } });
    const claimed = await world.agent.take("ServerCreate");
    expect(claimed).toMatchObject({
      id: job.id,
      attempt: 1,
      epoch: 1,
      lease_seconds: 90,
      cancel_requested: false,
    });
    expect(validateJobPayload(claimed.payload)).toMatchObject({ ok: true });
    const [nic] = server.interfaces;
    expect(claimed.payload).toMatchObject({
      server: { id: server.id, organisation_id: world.organisation.id, name: server.name },
      pool: `kule-${world.organisation.id}`,
      tags: ["kule", world.organisation.id, server.id],
      template: "debian-13",
      os_family: "linux",
      default_user: "debian",
      package: { slug: "l", vcpu: 4, memory_mb: 8192, disk_gb: 160 },
      ssh_public_keys: [],
      password_hash: expect.stringMatching(/^\$6\$/),
      sealed_password: null,
      start: true,
      egress: false,
      interfaces: [
        {
          id: nic.id,
          mac: nic.mac,
          address: nic.private_ip,
          prefix_length: 24,
          network_cidr: "10.0.0.0/16",
          gateway: nic.private_ip.replace(/\.\d+$/, ".1"),
          dns_servers: ["9.9.9.9", "1.1.1.1"],
          search_domain: "acme.internal",
        },
      ],
    });
    const [vmid] = await world.rows("select vmid from region_vmid where server_id = $1", [server.id]);
    expect(claimed.payload.vmid).toBe(vmid.vmid);
    const shown = await world.job(job.id);
    expect(shown).toMatchObject({ status: "running", attempt: 1, started_at: expect.any(String) });
  });

  test("answers 204 when there is nothing to do", async () => {
    expect((await world.agent.claimRaw()).status).toBe(204);
  });

  test("answers the same claim with the same job, since its reply may have been lost", async () => {
    const { job } = await world.create();
    await world.create();
    const claimId = randomUUID();
    expect(await claimedId(world.agent, claimId)).toBe(job.id);
    expect(await claimedId(world.agent, claimId)).toBe(job.id);
    const [row] = await world.rows("select epoch, attempt from job where id = $1", [job.id]);
    expect(row).toEqual({ epoch: 1, attempt: 1 });
    expect(await claimedId(world.agent, randomUUID())).not.toBe(job.id);
  });

  test("answers a claim that outlived its lease with the same job under a new epoch", async () => {
    const older = await world.create();
    const { job } = await world.create();
    await world.agent.claim();
    const claimId = randomUUID();
    expect(await claimedId(world.agent, claimId)).toBe(job.id);
    // Both leases expired while the agent slept; the job that was claimed first is not the one of the
    // repeated claim.
    await world.passLease(older.job.id);
    await world.passLease(job.id);
    const again = (await world.agent.claimRaw({ claim_id: claimId })).body.job;
    expect(again).toMatchObject({ id: job.id, epoch: 2, attempt: 2 });
    expect((await world.agent.claim())?.id).toBe(older.job.id);
  });

  test("answers a claim that is repeated with a rotated token with the same job", async () => {
    const { job } = await world.create();
    await world.create();
    const claimId = randomUUID();
    expect(await claimedId(world.agent, claimId)).toBe(job.id);
    const minted = (await world.world.operator.post("/regions/ist1/agent-tokens", { name: "rotated" })).body;
    const rotated = new TestAgent(new ApiCaller(world.world.app, minted.secret));
    expect(await claimedId(rotated, claimId)).toBe(job.id);
  });

  test("answers one claim that is sent many times concurrently with one job", async () => {
    for (let made = 0; made < 6; made += 1) await world.create();
    for (let round = 0; round < 5; round += 1) {
      const claimId = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => world.agent.claimRaw({ claim_id: claimId })),
      );
      expect(answers.filter(({ status }) => status !== 200 && status !== 204)).toEqual([]);
      expect(new Set(answers.flatMap(({ body }) => body?.job?.id ?? [])).size).toBe(1);
      const running = await world.rows("select 1 from job where claim_id = $1 and status = 'running'", [
        claimId,
      ]);
      expect(running).toHaveLength(1);
    }
  });

  test("leaves kinds that the agent does not support to a newer one", async () => {
    await world.create();
    expect(await world.agent.claim({ capabilities: ["ServerStop", "ClusterApply"] })).toBeNull();
    expect(await world.agent.claim()).not.toBeNull();
  });

  test("gives one job to one of many concurrent claims", async () => {
    const made = await Promise.all(Array.from({ length: 6 }, () => world.create()));
    const claims = await Promise.all(Array.from({ length: 12 }, () => world.agent.claim()));
    const ids = claims.flatMap((claim) => (claim === null ? [] : [claim.id]));
    expect(ids.sort()).toEqual(made.map(({ job }) => job.id).sort());
  });

  test("never runs two jobs of one server at the same time", async () => {
    const { server } = await world.create();
    const create = await world.agent.take("ServerCreate");
    await world.owned.delete(`/servers/${server.id}`);
    expect(await world.agent.claim()).toBeNull();
    await world.agent.end(create, { status: "cancelled" });
    expect((await world.agent.claim())?.kind).toBe("ServerStop");
  });

  test("assigns nothing in maintenance", async () => {
    await world.create();
    await world.world.operator.patch("/regions/ist1", { maintenance: true });
    expect(await world.agent.claim()).toBeNull();
    await world.world.operator.patch("/regions/ist1", { maintenance: false });
    expect(await world.agent.claim()).not.toBeNull();
  });

  test("waits for work and is woken by its notification", async () => {
    const parked = world.agent.claim({ wait_seconds: 20 });
    const early = await Promise.race([
      parked,
      new Promise((resolve) => setTimeout(() => resolve("parked"), 100)),
    ]);
    expect(early).toBe("parked");
    const startedAt = performance.now();
    const { job } = await world.create();
    expect((await parked)?.id).toBe(job.id);
    // Well below the interval at which a waiting claim checks by itself.
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test("finds a job whose backoff ends while it waits, without a notification", async () => {
    const { job } = await world.create();
    await world.owner.query("update job set run_at = clock_timestamp() + interval '1 second' where id = $1", [
      job.id,
    ]);
    expect(await world.agent.claim()).toBeNull();
    expect((await world.agent.claim({ wait_seconds: 10 }))?.id).toBe(job.id);
  });
});

describe("a job whose payload cannot be rendered", () => {
  test("does not delay the region's other jobs, and fails when its attempts are used up", async () => {
    const poisoned = await world.create();
    const healthy = await world.create();
    await world.owner.query("update server set image = 'forgotten-1' where id = $1", [poisoned.server.id]);
    expect((await world.agent.claim())?.id).toBe(healthy.job.id);
    expect(await world.job(poisoned.job.id)).toMatchObject({ status: "queued", attempt: 1 });
    for (let attempt = 2; attempt <= 8; attempt += 1) {
      await world.passBackoff();
      expect(await world.agent.claim()).toBeNull();
    }
    expect(await world.job(poisoned.job.id)).toMatchObject({
      status: "failed",
      attempt: 8,
      error: { code: "internal" },
    });
    await world.owner.query("update server set image = 'debian-13' where id = $1", [poisoned.server.id]);
  });

  test("or that no product settles is not assigned", async () => {
    const server = await world.createRunning();
    await world.owner.query(
      `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
       values ('job_of_tomorrow', $1, 'ist1', 'ClusterApply', 'server', $2, '{}', 'req_1')`,
      [world.organisation.id, server.id],
    );
    expect(await world.agent.claim({ capabilities: ["ClusterApply", "ServerStop"] })).toBeNull();
    const [row] = await world.rows("select status, attempt from job where id = 'job_of_tomorrow'");
    expect(row).toEqual({ status: "queued", attempt: 0 });
    await world.owner.query("delete from job where id = 'job_of_tomorrow'");
  });
});

describe("another region's agent", () => {
  test("gets none of this region's jobs and cannot report on them", async () => {
    const other = new TestAgent((await world.world.addRegion("ank1")).agent);
    await world.create();
    expect(await other.claim()).toBeNull();
    const job = await world.agent.take("ServerCreate");
    for (const answer of [
      await other.reportAs(job, 1),
      await other.reportAs(job, 1, { outcome: { status: "failed" } }),
      await other.reportAs({ ...job, id: "job_06ex2v3m8n4k6q1r5s7t9w0y2z" }, 1),
      await other.reportAs({ ...job, id: "nonsense" }, 1),
    ])
      expect([answer.status, answer.body.detail]).toEqual([404, "no such resource"]);
    expect(await world.job(job.id)).toMatchObject({ status: "running", steps: [] });
  });

  test("is refused by the API of people, as people are by the agents'", async () => {
    expect((await world.agent.api.get("/servers")).status).toBe(403);
    expect((await world.owned.post("/agent/jobs/claim", {})).status).toBe(403);
    expect((await world.world.operator.post("/agent/health", {})).status).toBe(403);
  });
});

describe("a report", () => {
  test("that only keeps the lease changes no progress, also when it ends the attempt", async () => {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const progress = async () => (await world.owned.get(`/jobs/${job.id}`)).body.progress;
    await world.agent.report(claimed, { phase: "apply", progress: 8 });
    await world.agent.report(claimed);
    expect(await progress()).toBe(8);
    await world.agent.report(claimed, { outcome: { status: "retry" } });
    expect(await progress()).toBe(8);
  });

  test("shows phases, progress and steps, and renews the lease", async () => {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const step = { name: "clone", status: "running", message: "template 9000", external_ref: "UPID:pve1:1" };
    const answer = await world.agent.report(claimed, { phase: "apply", step, progress: 40 });
    expect(answer.body).toMatchObject({ status: "running", cancel_requested: false });
    expect(Date.parse(answer.body.lease_expires_at)).toBeGreaterThan(Date.parse(claimed.lease_expires_at));
    await world.agent.report(claimed, {
      phase: "apply",
      step: { name: "clone", status: "succeeded" },
      progress: 30,
    });
    await world.agent.report(claimed);
    const shown = (await world.owned.get(`/jobs/${job.id}`)).body;
    expect(shown).toMatchObject({ phase: "apply", progress: 40 });
    expect(shown.steps).toMatchObject([
      {
        seq: 1,
        attempt: 1,
        phase: "apply",
        name: "clone",
        status: "succeeded",
        message: null,
        finished_at: expect.any(String),
        external_ref: null,
      },
    ]);
    const seenByOperator = await world.world.operator
      .with({ "Kule-Organisation": world.organisation.id })
      .get(`/jobs/${job.id}`);
    expect(seenByOperator.body.steps[0]).toMatchObject({
      external_ref: "UPID:pve1:1",
      region_message: "template 9000",
    });
  });

  test("has several steps, each with its number, and again with the outcome", async () => {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const planned = { phase: "plan", name: "plan", status: "succeeded" };
    await world.agent.reportAs(claimed, 1, {
      phase: "observe",
      step: { name: "observe", status: "running" },
    });
    const clone = {
      phase: "apply",
      step: { name: "clone", status: "running" },
      earlier_steps: [planned],
    };
    for (const _ of ["sent", "sent again"]) await world.agent.reportAs(claimed, 3, clone);
    await world.agent.reportAs(claimed, 6, {
      phase: "verify",
      step: { name: "verify", status: "succeeded" },
      earlier_steps: [
        { phase: "apply", name: "clone", status: "succeeded" },
        { phase: "verify", name: "verify", status: "running" },
      ],
      outcome: { status: "succeeded", observed: { power_state: "on" } },
    });
    const shown = (await world.owned.get(`/jobs/${job.id}`)).body;
    expect(shown).toMatchObject({ status: "succeeded", phase: "verify" });
    const steps = shown.steps as { seq: number; phase: string; name: string; status: string }[];
    expect(steps.map(({ seq, phase, name, status }) => [seq, phase, name, status])).toEqual([
      [1, "observe", "observe", "succeeded"],
      [2, "plan", "plan", "succeeded"],
      [3, "apply", "clone", "succeeded"],
      [4, "verify", "verify", "succeeded"],
    ]);
  });

  test("is refused with more earlier steps than there are numbers", async () => {
    await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const earlier_steps = [{ phase: "plan", name: "plan", status: "succeeded" }];
    const { status, body } = await world.agent.reportAs(claimed, 1, { earlier_steps });
    expect([status, body.errors]).toMatchObject([422, [{ field: "earlier_steps", code: "too_long" }]]);
  });

  test("records a repeated report once", async () => {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const report = { phase: "apply", step: { name: "clone", status: "running" } };
    const answers = [
      await world.agent.reportAs(claimed, 1, report),
      await world.agent.reportAs(claimed, 1, report),
      ...(await Promise.all([1, 1, 1].map((seq) => world.agent.reportAs(claimed, seq, report)))),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200]);
    expect((await world.owned.get(`/jobs/${job.id}`)).body.steps).toHaveLength(1);
  });

  test("settles once when the last report is repeated because its reply was lost", async () => {
    const { server } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    const outcome = { status: "succeeded", observed: { power_state: "on" } };
    const first = await world.agent.reportAs(claimed, 5, { outcome });
    const again = await world.agent.reportAs(claimed, 5, { outcome });
    expect([first.body, again.body]).toEqual([
      { status: "succeeded", lease_expires_at: null, cancel_requested: false },
      { status: "succeeded", lease_expires_at: null, cancel_requested: false },
    ]);
    const usage = (await world.owned.get(`/usage?resource=${server.id}`)).body.items;
    expect(usage.map((event: { kind: string }) => event.kind)).toEqual(["disk.allocated", "server.started"]);
    expect((await world.agent.reportAs(claimed, 6, { outcome })).body.code).toBe("stale_lease");
  });

  test("settles the server, its secret and the queue in one go", async () => {
    const { server, job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.succeed(claimed);
    expect(await world.server(server.id)).toMatchObject({
      status: "running",
      power_state: "on",
      observed_generation: 1,
      observed_at: expect.any(String),
      job_id: null,
    });
    expect(await world.job(job.id)).toMatchObject({
      status: "succeeded",
      done: true,
      progress: 100,
      error: null,
    });
    const [left] = await world.rows(
      `select (select count(*)::int from server_secret where server_id = $1) as secrets,
              (select count(*)::int from graphile_worker._private_jobs where key = $2) as queued,
              (select count(*)::int from audit where action = 'job.end' and resource = $2) as audits`,
      [server.id, job.id],
    );
    expect(left).toEqual({ secrets: 0, queued: 0, audits: 1 });
  });
});

describe("a holder whose lease has expired", () => {
  test("changes nothing any more, not even with its outcome", async () => {
    const { server } = await world.create();
    const zombie = await world.agent.take("ServerCreate");
    await world.agent.report(zombie, { phase: "apply", step: { name: "clone", status: "running" } });
    await world.passLease(zombie.id);
    const successor = await world.agent.take("ServerCreate");
    expect(successor).toMatchObject({ id: zombie.id, epoch: zombie.epoch + 1, attempt: 2 });

    const before = await snapshot(server.id);
    for (const more of [
      {},
      { phase: "verify", step: { name: "start", status: "succeeded" }, progress: 99 },
      { outcome: { status: "succeeded", observed: { power_state: "on" } } },
      { outcome: { status: "failed", error: { code: "boom", message: "boom" } } },
      { outcome: { status: "retry" } },
      { outcome: { status: "released" } },
      { outcome: { status: "failed", observed: { vmid_unusable: "taken" } } },
    ]) {
      const answer = await world.agent.report(zombie, more);
      expect([answer.status, answer.body.code]).toEqual([409, "stale_lease"]);
    }
    expect(await snapshot(server.id)).toEqual(before);
    await world.agent.succeed(successor);
    expect((await world.server(server.id)).status).toBe("running");
  });

  test("is refused as soon as the lease has expired, whether or not another agent has claimed it", async () => {
    await world.create();
    const late = await world.agent.take("ServerCreate");
    await world.passLease(late.id);
    expect((await world.agent.report(late)).body.code).toBe("stale_lease");
  });

  test("has ended its observation when it continues with something else", async () => {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.report(claimed, { phase: "observe", step: { name: "observe", status: "running" } });
    expect((await world.owned.get(`/jobs/${job.id}`)).body.steps).toMatchObject([
      { name: "observe", status: "running", finished_at: null },
    ]);
    await world.agent.report(claimed, { phase: "apply", step: { name: "clone", status: "running" } });
    await world.agent.report(claimed, { phase: "verify", step: { name: "verify", status: "running" } });
    expect((await world.owned.get(`/jobs/${job.id}`)).body.steps).toMatchObject([
      { name: "observe", status: "succeeded", finished_at: expect.any(String) },
      // A step that acts is ended by its own report only.
      { name: "clone", status: "running", finished_at: null },
      { name: "verify", status: "running" },
    ]);
  });

  test("loses its interrupted steps to history", async () => {
    await world.create();
    const first = await world.agent.take("ServerCreate");
    await world.agent.report(first, { phase: "apply", step: { name: "clone", status: "running" } });
    await world.passLease(first.id);
    const second = await world.agent.take("ServerCreate");
    await world.agent.report(second, { phase: "apply", step: { name: "clone", status: "running" } });
    const { steps } = (await world.owned.get(`/jobs/${first.id}`)).body;
    expect(steps).toMatchObject([
      { seq: 1, attempt: 1, name: "clone", status: "failed", message: "interrupted" },
      { seq: 2, attempt: 2, name: "clone", status: "running" },
    ]);
  });

  test("is requeued visibly by the expiry of leases when no agent claims it", async () => {
    const { job } = await world.create();
    await world.agent.take("ServerCreate");
    await world.passLease(job.id);
    expect(await reap()).toBe(1);
    expect(await world.job(job.id)).toMatchObject({
      status: "queued",
      attempt: 1,
      next_attempt_at: expect.any(String),
      error: { code: "lease_expired" },
    });
    expect(await reap()).toBe(0);
    await world.passBackoff();
    expect(await world.agent.take("ServerCreate")).toMatchObject({ id: job.id, epoch: 2, attempt: 2 });
  });

  test("ends the job when that happened too often", async () => {
    const { server, job } = await world.create();
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      expect((await world.agent.take("ServerCreate")).attempt).toBe(attempt);
      await world.passLease(job.id);
      if (attempt === 8) expect(await world.agent.claim()).toBeNull();
    }
    expect(await reap()).toBe(1);
    expect(await world.job(job.id)).toMatchObject({ status: "failed", error: { code: "lease_expired" } });
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: { code: "create_failed", job_id: job.id },
    });
  });

  async function snapshot(serverId: string) {
    return world.rows(
      `select (select to_jsonb(s) from server s where id = $1) as server,
              (select jsonb_agg(to_jsonb(j)) from job j where resource_id = $1) as jobs,
              (select jsonb_agg(to_jsonb(t)) from job_step t join job j on j.id = t.job_id where j.resource_id = $1) as steps,
              (select jsonb_agg(to_jsonb(v)) from region_vmid v where server_id = $1) as vmids,
              (select count(*) from usage_event where resource_id = $1) as usage,
              (select jsonb_agg(to_jsonb(q)) from graphile_worker._private_jobs q
                where key in (select id from job where resource_id = $1)) as queue`,
      [serverId],
    );
  }
});

describe("trouble", () => {
  test("ended without a cancel request is a failure: a server that is being deleted is not left there", async () => {
    const server = await world.createRunning();
    await world.owned.delete(`/servers/${server.id}`);
    await world.agent.work();
    await world.passBuffer(server.id);
    expect(await expireRemovalBuffer(world.world.replica.deps, world.organisation.id, server.id)).toBe(true);
    const destroy = await world.agent.take("ServerDestroy");
    await world.agent.end(destroy, { status: "cancelled" });
    expect(await world.job(destroy.id)).toMatchObject({
      status: "failed",
      error: { code: "given_up" },
      retryable: true,
    });
    expect((await world.server(server.id)).status).toBe("deleting");
  });

  test("of the moment is tried again later, up to eight times", async () => {
    const { server, job } = await world.create();
    const retry = {
      status: "retry",
      error: { code: "hypervisor_unavailable", message: "pve1 does not answer" },
    } as const;
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      const claimed = await world.agent.take("ServerCreate");
      expect(claimed.attempt).toBe(attempt);
      await world.agent.end(claimed, retry);
      const [row] = await world.rows(
        "select status, extract(epoch from run_at - clock_timestamp())::float as wait from job where id = $1",
        [job.id],
      );
      if (attempt === 8) break;
      expect(row.status).toBe("queued");
      waits.push(row.wait);
      expect(await world.agent.claim()).toBeNull();
      await world.passBackoff();
    }
    expect(waits.every((wait, index) => Math.abs(wait / Math.min(300, 5 * 2 ** index) - 1) < 0.2)).toBe(true);
    expect(await world.job(job.id)).toMatchObject({
      status: "failed",
      error: { code: "hypervisor_unavailable", retryable: true },
    });
    expect((await world.server(server.id)).status).toBe("error");
  });

  test("of an agent that stops costs the job no attempt and no time", async () => {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.end(claimed, { status: "released" });
    const again = await world.agent.take("ServerCreate");
    expect(again).toMatchObject({ id: job.id, attempt: 1, epoch: 2 });
  });

  test("permanently leaves a server in error with its allocations and its password's hash", async () => {
    const { server, job } = await world.create();
    await world.agent.fail(await world.agent.take("ServerCreate"));
    expect(await world.server(server.id)).toMatchObject({
      status: "error",
      status_reason: {
        code: "create_failed",
        message: expect.stringContaining("image does not exist"),
        job_id: job.id,
      },
      interfaces: [{ private_ip: server.interfaces[0].private_ip }],
    });
    const shown = await world.job(job.id);
    expect(shown).toMatchObject({ status: "failed", error: { code: "template_missing" }, retryable: true });
    expect(JSON.stringify(shown)).not.toContain("UPID");
    const [held] = await world.rows(
      `select (select count(*)::int from region_vmid where server_id = $1 and state = 'used') as vmids,
              (select count(*)::int from server_secret where server_id = $1) as secrets`,
      [server.id],
    );
    expect(held).toEqual({ vmids: 1, secrets: 1 });
    expect((await world.owned.get(`/usage?resource=${server.id}`)).body.items).toEqual([]);
  });

  test("with the VM number gets another one, and operators are notified", async () => {
    const { server } = await world.create();
    const first = await world.agent.take("ServerCreate");
    await world.agent.end(first, {
      status: "failed",
      error: { code: "vmid_taken", message: "VM 20000 is not ours" },
      observed: { vmid_unusable: "taken" },
    });
    const second = await world.agent.take("ServerCreate");
    expect(second).toMatchObject({ id: first.id, epoch: 2 });
    expect(second.payload.vmid).not.toBe(first.payload.vmid);
    expect(second.payload.interfaces[0]?.mac).not.toBe(first.payload.interfaces[0]?.mac);
    expect((await world.server(server.id)).interfaces[0].mac).toBe(second.payload.interfaces[0]?.mac);
    const [old] = await world.rows(
      "select state, free_after from region_vmid where region = 'ist1' and vmid = $1",
      [first.payload.vmid],
    );
    expect(old).toEqual({ state: "quarantined", free_after: null });
    const audit = (await world.world.operator.get("/audit?action=vmid.replace")).body.items;
    expect(audit[0]).toMatchObject({ resource: server.id, details: { why: "taken" } });
    expect((await world.owned.get("/audit?action=vmid.replace")).body.items).toEqual([]);
    await world.agent.succeed(second);
  });

  test("with the region's last VM number fails, and the server can still be removed", async () => {
    const { agent: api } = await world.world.addRegion("tight1", { vmid_range: { first: 700, last: 700 } });
    const agent = new TestAgent(api);
    const { owner } = await world.world.addOrganisation("tight");
    const { server } = await world.create({ region: "tight1" }, owner);
    await agent.end(await agent.take("ServerCreate"), {
      status: "failed",
      error: { code: "vmid_taken", message: "VM 700 is not ours" },
      observed: { vmid_unusable: "taken" },
    });
    expect((await owner.get(`/servers/${server.id}`)).body).toMatchObject({ status: "error" });
    expect((await owner.delete(`/servers/${server.id}`)).status).toBe(202);
    const stop = await agent.take("ServerStop");
    expect(stop.payload.vmid).toBe(700);
    await agent.succeed(stop, "off");
  });
});

describe("health", () => {
  test("is stored, and changes the region's health", async () => {
    const report = (reachable: boolean, more: object = {}) =>
      world.agent.api.post("/agent/health", {
        agent_version: "0.1.0",
        hypervisor: { kind: "proxmox", reachable, version: "9.1.4", nodes: [{ name: "pve1", online: true }] },
        templates: [{ image: "debian-13", ok: true }],
        ...more,
      });
    const answer = await report(true, { from_the_future: true });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ region: "ist1", server_time: expect.any(String) });
    const well = (await world.world.operator.get("/regions/ist1")).body;
    expect(well).toMatchObject({
      status: "ok",
      agent: { version: "0.1.0", hypervisor: { version: "9.1.4" } },
    });
    const [{ status_since: since }] = await world.rows("select status_since from region where slug = 'ist1'");
    await report(true);
    await report(false);
    expect((await world.world.operator.get("/regions/ist1")).body.status).toBe("degraded");
    const [{ status_since: later }] = await world.rows("select status_since from region where slug = 'ist1'");
    expect(later.getTime()).toBeGreaterThan(since.getTime());
    await report(true);
  });

  test("lists what is wrong with a report", async () => {
    const answer = await world.agent.api.post("/agent/health", { hypervisor: { kind: 1 } });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { field: string }) => error.field).sort()).toEqual([
      "agent_version",
      "hypervisor.kind",
      "hypervisor.reachable",
    ]);
  });
});

function reap(): Promise<number> {
  return expireLeases(world.world.replica.deps, jobHandlers);
}
