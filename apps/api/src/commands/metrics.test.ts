import { documentedFor, registeredIn } from "@kule/testing/monitoring-page";
import { requirePart } from "@kule/testing/parts";
import { probePromtool, promtool } from "@kule/testing/promtool";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Deps } from "../platform/deps.ts";
import { createMetrics } from "../platform/metrics.ts";
import { jobHandlers } from "../products/job-handlers.ts";
import { ServerWorld } from "../testing/server-world.ts";
import { expireLeases } from "../worker/expire-leases.ts";
import { tasksOf } from "../worker/run.ts";
import { createTaskMetrics } from "../worker/task-metrics.ts";
import { registerApiMetrics } from "./api-metrics.ts";
import { serveMetrics } from "./metrics-server.ts";

const tool = await requirePart("promtool", probePromtool, import.meta.filename);

let world: ServerWorld;
let api: Deps;
/** Another process over the same database. */
let worker: Deps;
beforeAll(async () => {
  world = await ServerWorld.open();
  api = world.world.replica.deps;
  registerApiMetrics(api);
  worker = { ...api, metrics: createMetrics(() => ({ total: 2, idle: 1, waiting: 0 })) };
});
afterAll(() => world.close());

const scraped = (deps: Deps = api) => deps.metrics.registry.metrics();

/** What the API shows once it has these lines: a scrape of a busy machine may show what it read before. */
async function showing(...lines: readonly string[]): Promise<string> {
  let text = "";
  await expect
    .poll(async () => {
      text = await scraped();
      return lines.filter((line) => !text.includes(line));
    })
    .toEqual([]);
  return text;
}

async function reportHealth(more: object = {}): Promise<void> {
  const report = {
    agent_version: "1.2.3",
    hypervisor: {
      kind: "proxmox-ve",
      reachable: true,
      nodes: [
        { name: "pve1", online: true },
        { name: "pve2", online: false },
      ],
    },
    templates: [
      { image: "debian-13", ok: true },
      { image: "debian-12", ok: false, message: "not there" },
    ],
    ...more,
  };
  expect((await world.agent.api.post("/agent/health", report)).status).toBe(200);
}

describe("the page of the metrics", () => {
  test("has every metric of the API with its type and labels, and no other", () => {
    expect(registeredIn(api.metrics.registry)).toEqual(documentedFor("api"));
  });

  test("has every metric of the worker, and no other", () => {
    const deps = { ...api, metrics: createMetrics(() => ({ total: 0, idle: 0, waiting: 0 })) };
    createTaskMetrics(deps);
    expect(registeredIn(deps.metrics.registry)).toEqual(documentedFor("worker"));
  });
});

describe("jobs", () => {
  test("are counted by region and kind: waiting, claimed, ended, and how long they took", async () => {
    const { job } = await world.create();
    await world.create();
    await showing('kule_jobs{region="ist1",status="queued"} 2');
    expect(await scraped()).toMatch(/^kule_job_queue_age_seconds\{region="ist1"\} \d/m);
    await world.rows("update job set created_at = now() - interval '70 seconds' where id = $1", [job.id]);

    const first = await world.agent.take("ServerCreate");
    await showing('kule_jobs{region="ist1",status="queued"} 1');
    await showing('kule_jobs{region="ist1",status="running"} 1');
    const outcome = { status: "succeeded", observed: { power_state: "on" } };
    for (const _ of ["the report", "its copy"])
      expect((await world.agent.reportAs(first, 1, { phase: "verify", outcome })).status).toBe(200);
    const second = await world.agent.take("ServerCreate");
    await world.agent.end(second, {
      status: "retry",
      error: { code: "hypervisor_busy", message: "It is busy", retryable: true },
    });

    const text = await scraped();
    const of = 'region="ist1",kind="ServerCreate"';
    expect(text).toContain(`kule_job_claims_total{${of}} 2`);
    expect(text).toContain('kule_job_wait_seconds_count{kind="ServerCreate"} 2');
    expect(text).toContain(`kule_job_attempts_total{${of},outcome="succeeded"} 1`);
    expect(text).toContain(`kule_job_attempts_total{${of},outcome="requeued"} 1`);
    expect(text).toContain('kule_job_duration_seconds_count{kind="ServerCreate"} 1');
    expect(text).toContain('kule_job_duration_seconds_bucket{le="60",kind="ServerCreate"} 0');
    expect(text).toContain('kule_job_duration_seconds_bucket{le="120",kind="ServerCreate"} 1');
  });

  test("that are stuck are counted by reason, and those whose holder was silent by region", async () => {
    await world.passBackoff();
    const held = await world.agent.take("ServerCreate");
    await world.rows("update job set lease_until = now() - interval '2 minutes' where id = $1", [held.id]);
    // Its wait for the first claim is counted already.
    await showing('kule_job_wait_seconds_count{kind="ServerCreate"} 2', 'kule_jobs_stuck{reason="silent"} 1');
    await showing('kule_jobs_stuck{reason="not_claimed"} 0');
    expect(await expireLeases(worker, jobHandlers)).toBe(1);
    await showing('kule_jobs_stuck{reason="silent"} 0');
    const text = await scraped(worker);
    expect(text).toContain('kule_job_leases_expired_total{region="ist1"} 1');
    expect(text).toContain('kule_job_attempts_total{region="ist1",kind="ServerCreate",outcome="requeued"} 1');
    await world.rows("update job set run_at = now() - interval '1 hour' where id = $1", [held.id]);
    await showing('kule_jobs_stuck{reason="not_claimed"} 1');
    const age = async () => /^kule_job_queue_age_seconds\{region="ist1"\} (\S+)$/m.exec(await scraped())?.[1];
    await expect.poll(async () => Number(await age())).toBeGreaterThanOrEqual(3600);
  });

  test("of the control plane itself have a region of their own", async () => {
    await showing('kule_jobs{region="control_plane",status="queued"} 0');
  });
});

describe("a region", () => {
  test("that never reported has a report at 0, and says nothing about its cluster", async () => {
    await world.world.addRegion("ank1");
    const text = await showing('kule_agent_report_timestamp_seconds{region="ank1"} 0');
    expect(text).toContain('kule_region_maintenance{region="ank1"} 0');
    expect(text).not.toMatch(/kule_(agent_info|region_(ready|hypervisor_reachable|nodes))\{region="ank1"/);
  });

  test("shows what its agent last reported: time, version, hypervisor, nodes and templates", async () => {
    await reportHealth();
    const text = await showing('kule_agent_info{region="ist1",mode="agent",version="1.2.3"} 1');
    const [, at = "0"] = /^kule_agent_report_timestamp_seconds\{region="ist1"\} (\S+)$/m.exec(text) ?? [];
    expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(600);
    expect(text).toContain('kule_region_hypervisor_reachable{region="ist1"} 1');
    expect(text).toContain('kule_region_ready{region="ist1"} 0');
    expect(text).toContain('kule_region_templates_missing{region="ist1"} 1');
    expect(text).toContain('kule_region_nodes{region="ist1",state="online"} 1');
    expect(text).toContain('kule_region_nodes{region="ist1",state="offline"} 1');
    expect(text).not.toContain("kule_region_edge_reachable{");
  });

  test("has one version at a time, and shows when its hypervisor or its edge is gone", async () => {
    const edge = { reachable: false, message: "no route to host" };
    await reportHealth({
      agent_version: "1.3.0",
      hypervisor: { kind: "proxmox-ve", reachable: false },
      edge,
    });
    const text = await showing('version="1.3.0"');
    expect(text.match(/^kule_agent_info\{region="ist1".*$/gm)).toEqual([
      'kule_agent_info{region="ist1",mode="agent",version="1.3.0"} 1',
    ]);
    expect(text).toContain('kule_region_hypervisor_reachable{region="ist1"} 0');
    expect(text).toContain('kule_region_edge_reachable{region="ist1"} 0');
  });
});

test("an IP pool shows how many of its addresses are free", async () => {
  const { operator } = world.world;
  const pool = { name: "public", region: "ist1", gateway: "203.0.113.1", prefix_length: 24 };
  const created = await operator.post("/ip-pools", pool);
  expect([created.status, created.body.code]).toEqual([201, undefined]);
  const range = { start: "203.0.113.10", end: "203.0.113.19" };
  expect((await operator.post(`/ip-pools/${created.body.id}/ranges`, range)).status).toBe(201);
  const text = await showing('kule_ip_pool_addresses{region="ist1",pool="public",state="free"} 10');
  expect(text).toContain('kule_ip_pool_addresses{region="ist1",pool="public",state="used"} 0');
});

test("a worker's tasks are counted by outcome, and its heartbeat by the API", async () => {
  const metrics = createTaskMetrics(worker);
  const tasks = tasksOf(worker, { metrics });
  const run = (name: string, payload: unknown) =>
    tasks[name]?.(payload, {
      withPgClient: () => Promise.reject(new Error("the database is away")),
    } as never);
  await run("reap_leases", {});
  await expect(run("check_invariants", {})).rejects.toThrow("away");
  const text = await scraped(worker);
  expect(text).toContain('kule_worker_tasks_total{task="reap_leases",outcome="succeeded"} 1');
  expect(text).toContain('kule_worker_tasks_total{task="check_invariants",outcome="failed"} 1');
  expect(text).toMatch(/^kule_worker_task_success_timestamp_seconds\{task="reap_leases"\} \d{10}/m);
  expect(text).not.toContain('kule_worker_task_success_timestamp_seconds{task="check_invariants"}');
  expect(text).toContain('kule_database_connections{state="used"} 1');
  await showing("\nkule_workers 0\n");
  await world.rows("insert into worker_process (id) values ('one'), ('two')");
  await showing("\nkule_workers 2\n");
});

test("a worker says that it answers, and whether it does its work", async () => {
  const { registry } = createMetrics(() => ({ total: 0, idle: 0, waiting: 0 }));
  const metrics = createTaskMetrics({ ...worker, metrics: { ...worker.metrics, registry } });
  const server = await serveMetrics({
    host: "127.0.0.1",
    port: 0,
    variable: "KULE_WORKER_METRICS_PORT",
    registry,
    flaw: () => metrics.flaw(),
  });
  const address = server?.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const asked = async (path: string) => {
    const response = await fetch(url + path);
    return [response.status, await response.text()];
  };
  expect(await asked("/readyz")).toEqual([503, expect.stringContaining("no tasks are taken")]);
  expect(await asked("/healthz")).toEqual([200, '{"status":"ok"}\n']);
  expect(await asked("/metrics")).toEqual([200, expect.stringMatching(/^kule_worker_running 0$/m)]);
  metrics.setRunning(true);
  expect(await asked("/readyz")).toEqual([200, '{"status":"ok"}\n']);
  expect(await asked("/metrics")).toEqual([200, expect.stringMatching(/^kule_worker_running 1$/m)]);
  expect((await asked("/else"))[0]).toBe(404);
  server?.close();
  server?.closeAllConnections();
});

describe("what is scraped", () => {
  test.skipIf(tool.missing)("is as promtool wants it", async () => {
    for (const deps of [api, worker]) {
      const text = await scraped(deps);
      expect(text).toContain("kule_job_attempts_total{");
      expect(promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
    }
    expect(
      promtool(["check", "metrics"], "# TYPE kule_wrong_total gauge\nkule_wrong_total 1\n").code,
    ).not.toBe(0);
  });

  test("names no organisation, no server and no person", async () => {
    const text = (await scraped()) + (await scraped(worker));
    expect(text).not.toMatch(/\b(org|srv|usr|job|net|tok)_[0-9a-z]{20,}/);
    expect(text).not.toContain("acme");
  });
});
