import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess } from "@kule/testing/child-process";
import { type FreshDatabase, freshDatabase } from "@kule/testing/database";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Seeded } from "./seed.ts";

const main = join(import.meta.dirname, "..", "main.ts");

let database: FreshDatabase;
let directory: string;
const started: TestProcess[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  directory = mkdtempSync(join(tmpdir(), "kule-commands-"));
});
afterEach(async () => {
  for (const process of started.splice(0)) await process.end();
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await database.drop();
});

function start(args: readonly string[], env: Record<string, string> = {}): TestProcess {
  const process = startProcess(args[0] ?? "", [main, ...args], {
    KULE_DATABASE_URL: database.apiUrl,
    KULE_OWNER_DATABASE_URL: database.ownerUrl,
    KULE_WORKER_DATABASE_URL: database.workerUrl,
    ...env,
  });
  started.push(process);
  return process;
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const process = start(args, env);
  const { code } = await process.ended;
  return { code, output: process.output() };
}

async function seed(...options: string[]): Promise<Seeded> {
  const { code, output } = await run(["seed", ...options]);
  expect(code, output).toBe(0);
  expect(output.trim().split("\n")).toHaveLength(1);
  return JSON.parse(output);
}

describe("what is wrong with the environment", () => {
  test("is named, all at once, without a stack", async () => {
    const { code, output } = await run(["serve"], {
      KULE_DATABASE_URL: "mysql://x",
      KULE_API_PORT: "eighty",
      KULE_REMOVAL_BUFFER_SECONDS: "-1",
    });
    expect(code).toBe(1);
    expect(output.trim().split("\n").sort()).toEqual([
      'KULE_API_PORT is "eighty"; a whole number from 0 to 65535 is needed',
      "KULE_DATABASE_URL is not a URL that starts with postgres:// or postgresql://",
      'KULE_REMOVAL_BUFFER_SECONDS is "-1"; a whole number from 0 to 31536000 is needed',
    ]);
  });

  test.each([
    [{ KULE_KEEP_JOB_STEPS_DAYS: "29" }, "a whole number from 30 to 36500 is needed"],
    [{ KULE_KEEP_AUDIT_DAYS: "89" }, "a whole number from 90 to 36500 is needed"],
    [{ KULE_KEEP_AUDIT_DAYS: "90" }, "KULE_KEEP_AUDIT_DAYS needs KULE_AUDIT_KEYS"],
  ])("a retention that would lose too much, or cannot be verified, is refused: %j", async (given, said) => {
    const { code, output } = await run(["worker"], given);
    expect(output).toContain(said);
    expect(output).not.toMatch(/\n {4}at /);
    expect(code).toBe(1);
  });

  test("a busy port is named", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => holder.once("listening", resolve));
    const { port } = holder.address() as AddressInfo;
    const { code, output } = await run(["serve"], { KULE_API_PORT: String(port), KULE_LOG_LEVEL: "silent" });
    holder.close();
    expect([code, output.trim()]).toEqual([
      1,
      `port 127.0.0.1:${port} is in use; set KULE_API_PORT to another one`,
    ]);
  });

  test.each(["the owner of the tables", "a superuser that owns nothing"])(
    "serve does not begin with the URL of %s, and says which one it needs",
    async (who) => {
      const url = new URL(database.ownerUrl);
      const admin = new Client({ connectionString: database.ownerUrl });
      await admin.connect();
      const role = `strong_${database.name}`;
      if (who !== "the owner of the tables") {
        await admin.query(`create role ${role} login superuser password 'swordfish'`);
        url.username = role;
        url.password = "swordfish";
      }
      const { code, output } = await run(["serve"], {
        KULE_DATABASE_URL: url.href,
        KULE_LOG_LEVEL: "silent",
      });
      if (who !== "the owner of the tables") await admin.query(`drop role ${role}`);
      await admin.end();
      expect(code).toBe(1);
      expect(output.trim()).toBe(
        `KULE_DATABASE_URL is of ${decodeURIComponent(url.username)}, which owns the tables or is a superuser; give serve the URL of kule_api, whose password \`kule-api migrate\` sets to KULE_API_DATABASE_PASSWORD`,
      );
    },
  );

  test("without a command the commands are listed", async () => {
    const { code, output } = await run([]);
    expect(code).toBe(1);
    for (const command of ["serve", "worker", "migrate", "seed"]) expect(output).toContain(`  ${command} `);
  });
});

test("migrating a database that is up to date changes nothing", async () => {
  expect(await run(["migrate"])).toEqual({ code: 0, output: '{"applied":[]}\n' });
});

describe("seeding", () => {
  test("what it prints opens a new installation; run again it creates new secrets, or keeps valid ones", async () => {
    const port = await findFreePort();
    const server = start(["serve"], { KULE_API_PORT: String(port), KULE_LOG_LEVEL: "info" });
    const root = `http://127.0.0.1:${port}/api/v1`;
    await expect.poll(() => server.output(), { timeout: 15_000 }).toContain('"msg":"serving"');
    const get = async (path: string, token: string) => {
      const response = await fetch(`${root}${path}`, { headers: { Authorization: `Bearer ${token}` } });
      return [response.status, await response.json()];
    };

    const first = await seed();
    expect(await get("/me", first.organisation_token)).toMatchObject([
      200,
      { role: "owner", organisation: { id: first.organisation_id, slug: "demo" } },
    ]);
    expect(await get("/me", first.operator_token)).toMatchObject([200, { actor: "operator" }]);
    expect(await get("/me", first.agent_token)).toMatchObject([200, { region: "lab1" }]);
    expect(await get("/catalog", first.organisation_token)).toMatchObject([
      200,
      { regions: [{ slug: "lab1" }] },
    ]);
    for (const login of Object.values(first.users)) {
      const response = await fetch(`${root}/auth/login`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(login),
      });
      expect(response.status).toBe(200);
    }

    const file = join(directory, "quickstart.json");
    writeFileSync(file, JSON.stringify({ api_url: root, ...first }));
    expect(await seed("--keep", file)).toEqual(first);

    const second = await seed("--keep", join(directory, "absent.json"));
    expect(second.organisation_id).toBe(first.organisation_id);
    expect(second.organisation_token).not.toBe(first.organisation_token);
    await expect
      .poll(async () => (await get("/me", first.organisation_token))[0], { timeout: 3_000 })
      .toBe(401);
    // The file's tokens are revoked by now, so `--keep` creates new ones.
    expect((await seed("--keep", file)).operator_token).not.toBe(first.operator_token);
    // Five processes are started one after another.
  }, 60_000);
});

describe("stopping", () => {
  test("SIGTERM lets the running request end, answers no new one, and exits 0 within ten seconds", async () => {
    const [port, metricsPort] = [await findFreePort(), await findFreePort()];
    const ports = { KULE_API_PORT: String(port), KULE_API_METRICS_PORT: String(metricsPort) };
    const server = start(["serve"], ports);
    await expect.poll(() => server.output(), { timeout: 15_000 }).toContain('"msg":"serving"');
    const { agent_token } = await seed();
    // Waits until there is work, or until the process gets its stop signal.
    const parked = fetch(`http://127.0.0.1:${port}/api/v1/agent/jobs/claim`, {
      method: "POST",
      headers: { Authorization: `Bearer ${agent_token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ claim_id: "parked-1", agent_version: "1", capabilities: [], wait_seconds: 20 }),
    });
    await expect
      .poll(async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text())
      .toContain("kule_api_requests_open 1");
    const toldAt = performance.now();
    server.signal("SIGTERM");
    expect((await parked).status).toBe(204);
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - toldAt).toBeLessThan(10_000);
    await expect(fetch(`http://127.0.0.1:${port}/api/v1/healthz`)).rejects.toThrow();
  });

  test("busy connections get a Connection: close with their last answer, and do not delay the stop", async () => {
    const [port, metricsPort] = [await findFreePort(), await findFreePort()];
    const ports = { KULE_API_PORT: String(port), KULE_API_METRICS_PORT: String(metricsPort) };
    const server = start(["serve"], ports);
    await expect.poll(() => server.output(), { timeout: 15_000 }).toContain('"msg":"serving"');
    const { agent_token } = await seed();
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const claim = (id: string) =>
      new Promise<string | undefined>((resolve, reject) => {
        const headers = { Authorization: `Bearer ${agent_token}`, "Content-Type": "application/json" };
        const path = "/api/v1/agent/jobs/claim";
        request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
          response.resume().on("end", () => resolve(response.headers.connection));
        })
          .on("error", reject)
          .end(JSON.stringify({ claim_id: id, agent_version: "1", capabilities: [], wait_seconds: 20 }));
      });
    // Each sends its next request as soon as it is answered, so its connection is never idle.
    const clients = Promise.all(
      ["one", "two", "three", "four"].map(async (id) => {
        for (let round = 1; ; round += 1) if ((await claim(`busy-${id}-${round}`)) === "close") return round;
      }),
    );
    await expect
      .poll(async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text())
      .toContain("kule_api_requests_open 4");
    const toldAt = performance.now();
    server.signal("SIGTERM");
    expect(await clients).toEqual([1, 1, 1, 1]);
    expect(await server.ended).toEqual({ code: 0, signal: null });
    // Connections that are still open after seven seconds are closed.
    expect(performance.now() - toldAt).toBeLessThan(5_000);
    agent.destroy();
  });

  test("with a delay, it says that it is not ready, and answers until the proxy has noticed", async () => {
    const port = await findFreePort();
    const server = start(["serve"], { KULE_API_PORT: String(port), KULE_STOP_DELAY_SECONDS: "3" });
    const root = `http://127.0.0.1:${port}/api/v1`;
    await expect.poll(() => server.output(), { timeout: 15_000 }).toContain('"msg":"serving"');
    const { agent_token } = await seed();
    const asked = async (path: string) => {
      const response = await fetch(`${root}${path}`);
      await response.arrayBuffer();
      return [response.status, response.headers.get("connection")];
    };
    expect(await asked("/readyz")).toEqual([200, "keep-alive"]);
    // An agent's claim goes on to wait: it would come back at once.
    const parked = fetch(`${root}/agent/jobs/claim`, {
      method: "POST",
      headers: { Authorization: `Bearer ${agent_token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ claim_id: "parked-2", agent_version: "1", capabilities: [], wait_seconds: 20 }),
    });
    let isAnswered = false;
    void parked.then(() => (isAnswered = true));
    server.signal("SIGTERM");
    const toldAt = performance.now();
    await expect.poll(() => asked("/readyz")).toEqual([503, "close"]);
    // On a new connection, and each answer is the last one on its own.
    expect(await asked("/healthz")).toEqual([200, "close"]);
    expect([isAnswered, performance.now() - toldAt < 3_000]).toEqual([false, true]);
    expect((await parked).status).toBe(204);
    expect(performance.now() - toldAt).toBeGreaterThan(2_900);
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test("the worker stops on SIGTERM", async () => {
    const worker = start(["worker"]);
    await expect.poll(() => worker.output(), { timeout: 15_000 }).toContain('"msg":"working"');
    worker.signal("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
  });
});

test("metrics are on a port of their own, and only when one is named", async () => {
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const server = start(["serve"], {
    KULE_API_PORT: String(port),
    KULE_API_METRICS_PORT: String(metricsPort),
  });
  await expect.poll(() => server.output(), { timeout: 15_000 }).toContain('"msg":"serving"');
  await fetch(`http://127.0.0.1:${port}/api/v1/me`);
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(metrics).toContain('kule_api_requests_total{operation="getMe",status="401"} 1');
  expect(metrics).toContain("kule_database_connections");
  // Another test of this file may have run the worker's scan in the meantime.
  expect(metrics).toMatch(/^kule_invariants_checked_timestamp_seconds \d/m);
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);
});

test("the worker has its metrics and its health on a port of its own", async () => {
  const port = await findFreePort();
  const worker = start(["worker"], { KULE_WORKER_METRICS_PORT: String(port) });
  const asked = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  await expect.poll(() => asked("/readyz").catch(() => 0), { timeout: 30_000 }).toBe(200);
  expect(await asked("/healthz")).toBe(200);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toMatch(/^kule_worker_running 1$/m);
  expect(metrics).not.toContain("kule_api_requests");
  worker.signal("SIGTERM");
  expect(await worker.ended).toEqual({ code: 0, signal: null });
});
