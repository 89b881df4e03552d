import { createServer, get, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { requirePart } from "@kule/testing/parts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Failed } from "../../errors.ts";
import { type Bundle, type GuestState, renderBundle } from "../../guest-state/bundle.ts";
import { bring, isBrought } from "../../testing/killed-guest-state.ts";
import { readStatus } from "./read-status.ts";
import { probeHaproxy, SCRIPT, TriedAppliance } from "./tried-appliance.ts";

const part = await requirePart("haproxy", probeHaproxy, import.meta.filename);
const LISTENER = "lsn_1";
const WAIT = { timeout: 120_000, interval: 200 };

/** A target whose health check answers as the test says, and which counts all other requests. */
class Target {
  requests = 0;
  checks = 0;
  isHealthy: boolean;
  reason = "No";
  /** The answer to /slow, which has begun and not ended. */
  slow: ServerResponse | null = null;
  readonly #server: Server;

  constructor(isHealthy: boolean) {
    this.isHealthy = isHealthy;
    this.#server = createServer((request, response) => {
      response.setHeader("connection", "close");
      if (request.url !== "/health") {
        this.requests += 1;
        if (request.url === "/slow") this.slow = response.writeHead(200);
        else response.end("ok");
        this.slow?.flushHeaders();
        return;
      }
      this.checks += 1;
      if (this.isHealthy) response.writeHead(200).end();
      else response.writeHead(503, this.reason).end();
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

describe.skipIf(part.missing)("A load balancer with the real haproxy", { timeout: 500_000 }, () => {
  let appliance: TriedAppliance;
  let port: number;
  const targets: Target[] = [];
  beforeEach(async () => {
    appliance = new TriedAppliance();
    port = await freePort();
  });
  afterEach(async () => {
    await appliance.close();
    for (const target of targets.splice(0)) target.close();
  }, 120_000);

  async function newTarget(isHealthy: boolean): Promise<Target> {
    const target = await new Target(isHealthy).listen();
    targets.push(target);
    return target;
  }

  /** A state with one listener, as the rules render it, for targets by their names. */
  function bundleOf(
    generation: number,
    servers: Readonly<Record<string, Target>>,
    { listensAt = port }: { listensAt?: number } = {},
  ): Bundle {
    const { run } = appliance;
    const configuration = [
      "global",
      "    default-path config",
      `    setenv KULE_GENERATION ${generation}`,
      "    maxconn 200",
      `    stats socket ${run}/admin.sock mode 600 level admin`,
      `    server-state-file ${run}/server-state`,
      "    hard-stop-after 10m",
      "defaults",
      "    mode http",
      "    load-server-state-from-file global",
      "    timeout connect 60s",
      "    timeout client 60s",
      "    timeout server 60s",
      "    timeout check 60s",
      "    option contstats",
      `frontend ${LISTENER}`,
      `    bind 127.0.0.1:${listensAt}`,
      `    default_backend ${LISTENER}`,
      `backend ${LISTENER}`,
      "    option httpchk GET /health",
      ...Object.entries(servers).map(
        ([name, target], index) =>
          `    server ${name} 127.0.0.1:${target.port} id ${7 + index} weight 1 check port ${target.port} inter 500ms rise 2 fall 2`,
      ),
    ];
    const state: GuestState = {
      generation,
      files: [
        { path: "haproxy/haproxy.cfg", mode: 0o600, content: `${configuration.join("\n")}\n` },
        {
          path: "haproxy/servers",
          mode: 0o600,
          content: Object.keys(servers)
            .map((name) => `${LISTENER} ${name}\n`)
            .join(""),
        },
      ],
      validate: ["haproxy", "-c", "-f", "haproxy/haproxy.cfg"],
      units: [{ name: "haproxy.service", change: "reload" }],
      check: [SCRIPT, "check", String(generation)],
    };
    return renderBundle(state);
  }

  /** The code of an answer; 0 for none. */
  const ask = (path = "/"): Promise<number> =>
    new Promise((done) => {
      get({ host: "127.0.0.1", port, path, agent: false }, (response) => {
        response.resume();
        response.once("end", () => done(response.statusCode ?? 0));
      }).once("error", () => done(0));
    });

  async function status(servers: readonly string[]) {
    const { output } = await appliance.call("status");
    const seen = readStatus(output, new Map([[LISTENER, new Set(servers)]]));
    if (seen === null) throw new Error(`no status: ${output}`);
    return seen;
  }

  test("sends a new target nothing before its check has succeeded, and fails no request meanwhile", async () => {
    const [first, second, third] = [await newTarget(true), await newTarget(false), await newTarget(false)];
    await bring(appliance.guest, bundleOf(1, { tgt_1: first }));
    await expect.poll(() => ask(), WAIT).toBe(200);
    let isOver = false;
    const codes: number[] = [];
    const clients = [1, 2].map(async () => {
      while (!isOver) codes.push(await ask());
    });
    const served = (more: number) => {
      const most = codes.length + more;
      return expect.poll(() => codes.length, WAIT).toBeGreaterThan(most);
    };
    await served(50);
    const both = bundleOf(2, { tgt_1: first, "tgt_2.srv_1": second });
    await bring(appliance.guest, both);
    expect(await isBrought(appliance.guest, both)).toBe(true);
    await expect.poll(() => second.checks, WAIT).toBeGreaterThan(2);
    await served(100);
    expect(second.requests).toBe(0);
    second.isHealthy = true;
    await expect.poll(() => second.requests, WAIT).toBeGreaterThan(20);
    // The same target at another port is a new one.
    const beforeMove = second.requests;
    await bring(appliance.guest, bundleOf(3, { tgt_1: first, "tgt_2.srv_1": third }));
    await expect.poll(() => third.checks, WAIT).toBeGreaterThan(2);
    await served(100);
    expect(third.requests).toBe(0);
    expect(second.requests).toBeGreaterThanOrEqual(beforeMove);
    third.isHealthy = true;
    await expect.poll(() => third.requests, WAIT).toBeGreaterThan(20);
    isOver = true;
    await Promise.all(clients);
    expect(codes.filter((code) => code !== 200)).toEqual([]);
    expect(codes.length).toBeGreaterThan(300);
    const seen = await status(["tgt_1", "tgt_2.srv_1"]);
    expect(seen).toMatchObject({ generation: 3, failedReloads: 0, dropped: 0, mostConnections: 200 });
    expect(seen.targets).toEqual([
      expect.objectContaining({ server: "tgt_1", status: "UP", checkStatus: "L7OK", checkCode: 200 }),
      expect.objectContaining({ server: "tgt_2.srv_1", status: "UP", checkStatus: "L7OK" }),
    ]);
    const all = [...seen.listeners, ...seen.former].map(({ requestsTotal }) => requestsTotal ?? 0);
    expect(seen.former.length).toBeGreaterThanOrEqual(2);
    // Those between the last look at a worker and its end are not counted.
    expect(Math.max(...all)).toBeLessThanOrEqual(codes.length);
    expect(all.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(codes.length / 2);
  });

  test("goes on with its old worker when a state cannot be loaded, and that state is not applied", async () => {
    const target = await newTarget(true);
    const before = bundleOf(1, { tgt_1: target });
    await bring(appliance.guest, before);
    await expect.poll(() => ask(), WAIT).toBe(200);
    const { workerPid } = await status(["tgt_1"]);
    // `haproxy -c` binds no port.
    const occupied = await newTarget(true);
    const refused = await bring(
      appliance.guest,
      bundleOf(2, { tgt_1: target }, { listensAt: occupied.port }),
    ).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failed);
    expect(refused).toMatchObject({
      facts: { code: "guest_state_refused", internal: expect.stringContaining("serves generation 1") },
    });
    expect(await ask()).toBe(200);
    expect(appliance.log()).toContain("cannot bind socket");
    await expect.poll(() => appliance.call("check", "1").then(({ exitCode }) => exitCode), WAIT).toBe(0);
    const seen = await status(["tgt_1"]);
    expect(seen).toMatchObject({ generation: 1, failedReloads: 0 });
    expect(seen.workerPid).not.toBe(workerPid);
    expect(await isBrought(appliance.guest, before)).toBe(true);
  });

  test("counts what an old worker still serves after a reload", async () => {
    const target = await newTarget(true);
    await bring(appliance.guest, bundleOf(1, { tgt_1: target }));
    await expect.poll(() => ask(), WAIT).toBe(200);
    const { workerPid } = await status(["tgt_1"]);
    const slow = ask("/slow");
    await expect.poll(() => target.slow !== null, WAIT).toBe(true);
    await bring(appliance.guest, bundleOf(2, { tgt_1: target }));
    target.slow?.write("x".repeat(200_000));
    await expect
      .poll(async () => {
        const { oldWorkers, former } = await status(["tgt_1"]);
        const bytes = former.find((each) => each.workerPid === workerPid)?.bytesOut ?? 0;
        return oldWorkers === 1 && bytes > 200_000;
      }, WAIT)
      .toBe(true);
    target.slow?.end();
    expect(await slow).toBe(200);
    await expect.poll(() => status(["tgt_1"]).then(({ oldWorkers }) => oldWorkers), WAIT).toBe(0);
    expect((await status(["tgt_1"])).former).toMatchObject([{ workerPid, listenerId: LISTENER }]);
  });

  test("counts the answers that are errors, its own too", async () => {
    const target = await newTarget(false);
    await bring(appliance.guest, bundleOf(1, { tgt_1: target }));
    const codes: number[] = [];
    const askAndNote = async () => {
      const code = await ask();
      if (code !== 0) codes.push(code);
      return code;
    };
    await expect.poll(askAndNote, WAIT).toBe(503);
    target.isHealthy = true;
    await expect.poll(askAndNote, WAIT).toBe(200);
    const { listeners } = await status(["tgt_1"]);
    expect(listeners).toMatchObject([
      {
        requestsTotal: codes.length,
        errorsTotal: codes.filter((code) => code === 503).length,
        responses: [0, 1, 0, 0, codes.length - 1],
      },
    ]);
  });

  test("serves at once after its worker was killed, and what was never up gets nothing", async () => {
    const [up, down] = [await newTarget(true), await newTarget(false)];
    down.reason = `"}],\\ "x":[<é>`;
    const bundle = bundleOf(1, { tgt_1: up, tgt_2: down });
    await bring(appliance.guest, bundle);
    await expect.poll(() => ask(), WAIT).toBe(200);
    const seen = await status(["tgt_1", "tgt_2"]);
    expect(seen.targets).toMatchObject([
      { server: "tgt_2", status: "DOWN", checkStatus: "L7STS", checkCode: 503 },
      { server: "tgt_1", status: "UP" },
    ]);
    expect(seen.targets[0]?.lastCheck).toMatch(/^[ -~]+$/);
    // Nobody finds it healthy by a check: it is so because it was.
    up.isHealthy = false;
    process.kill(seen.workerPid ?? 0, "SIGKILL");
    const codes: number[] = [];
    await expect
      .poll(async () => {
        codes.push(await ask());
        return codes.at(-1) ?? 0;
      }, WAIT)
      .toBe(200);
    // None answered while it was away; the new worker has no request refused.
    expect(codes.filter((code) => code !== 0)).toEqual([200]);
    up.isHealthy = true;
    await expect.poll(() => isBrought(appliance.guest, bundle), WAIT).toBe(true);
    const after = await status(["tgt_1", "tgt_2"]);
    expect(after.workerPid).not.toBe(seen.workerPid);
    expect(down.requests).toBe(0);
  });
});
