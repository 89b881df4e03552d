import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, type IncomingMessage, request as plainRequest } from "node:http";
import { type RequestOptions, request } from "node:https";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Schemas } from "@kule/contract/schemas";
import { findFreePort } from "@kule/postgres/free-port";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestProcess } from "../child-process.ts";
import { ConsoleViewer } from "../console-viewer.ts";
import { requirePart } from "../parts.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { type ProxyKind, probeProxy, type ReverseProxy, startReverseProxy } from "../rig/reverse-proxy.ts";

const root = resolve(import.meta.dirname, "../../../..");

/** Kule as it runs, with the panel, behind the samples of infra/server/proxies. */
let world: RegionWorld;
let panelUrl = "";
let folder = "";

const suite = import.meta.filename;
const parts = {
  nginx: await requirePart("nginx", () => probeProxy("nginx"), suite),
  haproxy: await requirePart("haproxy", () => probeProxy("haproxy"), suite),
  caddy: await requirePart("caddy", () => probeProxy("caddy"), suite),
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-proxies-"));
  // For longer than a proxy needs to notice that a process is told to stop.
  world = await startRegionWorld({ apiEnv: { KULE_TRUSTED_PROXIES: "1", KULE_STOP_DELAY_SECONDS: "4" } });
  panelUrl = (await world.startPanel({ KULE_CONSOLE_TRUSTED_PROXIES: "1" })).url;
}, 180_000);
afterAll(async () => {
  await world?.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Without those of the other proxies, which have the same name. */
const usualCas = getCACertificates("default");

/** An address of this machine that no proxy has towards Kule. */
const clientAddress = "127.0.0.77";
const claimedAddress = "203.0.113.9";

test("a connection without a request stays open for longer than any of the proxies keeps it", async () => {
  const samples = ["nginx.conf", "haproxy.cfg", "Caddyfile"].map((name) =>
    readFileSync(join(root, "infra/server/proxies", name), "utf8"),
  );
  // nginx and Caddy by these words; haproxy keeps its own as long as those of clients.
  const kept = samples.flatMap((sample) =>
    [...sample.matchAll(/^\s*(?:keepalive_timeout|keepalive|timeout http-keep-alive) (\d+)s;?$/gm)].map(
      ([, seconds]) => Number(seconds),
    ),
  );
  expect(kept).toHaveLength(5);
  for (const url of [`${world.apiUrl}/healthz`, `${panelUrl}/healthz`]) {
    const sent = plainRequest(url, { agent: new Agent({ keepAlive: true }) }).end();
    const [{ headers }] = (await once(sent, "response")) as [IncomingMessage];
    const [, seconds] = /^timeout=(\d+)$/.exec(String(headers["keep-alive"])) ?? [];
    expect(Number(seconds)).toBeGreaterThan(Math.max(...kept) + 10);
    sent.destroy();
  }
});

describe.each(["nginx", "haproxy", "caddy"] as const satisfies readonly ProxyKind[])("behind %s", (kind) => {
  const part = parts[kind];
  let proxy: ReverseProxy;
  let agent: TestProcess;
  let nextApiPort = 0;

  beforeAll(async () => {
    if (part.missing) return;
    const portOf = (url: string) => Number(new URL(url).port);
    nextApiPort = await findFreePort();
    proxy = await startReverseProxy(kind, {
      apiPort: portOf(world.apiUrl),
      consolePort: portOf(panelUrl),
      nextApiPort,
    });
    setDefaultCACertificates([...usualCas, proxy.certificatePem]);
    const ca = join(folder, `${kind}.pem`);
    writeFileSync(ca, proxy.certificatePem);
    // The region's agent comes by the same way.
    agent = world.startAgent({ NODE_EXTRA_CA_CERTS: ca }, { apiOrigin: proxy.origin, name: kind });
  }, 120_000);
  afterAll(async () => {
    await agent?.end();
    await proxy?.end();
  });

  const ask = async (path: string, options: RequestOptions = {}, body?: string): Promise<IncomingMessage> => {
    const sent = request(`${proxy.origin}${path}`, {
      ...options,
      localAddress: clientAddress,
      ca: proxy.certificatePem,
    });
    if (body === undefined && options.method === "POST") sent.flushHeaders();
    else sent.end(body);
    sent.on("error", () => {});
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return response;
  };
  const authorised = (more: Record<string, string> = {}) => ({
    Authorization: `Bearer ${world.organisationToken}`,
    ...more,
  });

  test.skipIf(part.missing)("a page of the panel and an answer of the API arrive", async () => {
    const page = await ask("/sign-in");
    expect([page.statusCode, page.headers["content-type"]]).toEqual([200, "text/html; charset=UTF-8"]);
    expect(await text(page)).toContain('name="password"');
    const answer = await ask("/api/v1/me", { headers: authorised() });
    expect([answer.statusCode, JSON.parse(await text(answer))]).toEqual([
      200,
      expect.objectContaining({ organisation: expect.anything() }),
    ]);
  });

  test.skipIf(part.missing || kind === "caddy")(
    "without encryption nothing is answered but the way",
    async () => {
      const answer = await fetch(`${proxy.plainOrigin}/api/v1/me`, { redirect: "manual" });
      expect(answer.status).toBe(308);
      expect(answer.headers.get("location")).toMatch(/^https:\/\/.*\/api\/v1\/me$/);
    },
  );

  test.skipIf(part.missing)("a form of the panel is accepted as one of its own page", async () => {
    const page = await ask("/sign-in");
    const cookie = (page.headers["set-cookie"] ?? []).map((each) => each.split(";")[0]).join("; ");
    const html = await text(page);
    const form = new URLSearchParams();
    for (const [, name = "", value = ""] of html.matchAll(
      /<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g,
    ))
      form.set(name, value);
    form.set("email", world.users.organisation.email);
    form.set("password", world.users.organisation.password);
    const headers = {
      Cookie: cookie,
      Origin: proxy.origin,
      "Content-Type": "application/x-www-form-urlencoded",
      "X-Forwarded-For": claimedAddress,
    };
    const answer = await ask("/sign-in", { method: "POST", headers }, form.toString());
    expect([answer.statusCode, answer.headers.location]).toEqual([303, expect.stringMatching(/^\//)]);
    answer.resume();
    // Through the panel, which passes the visitor's address on.
    expect(await addressOf("session.open")).toBe(clientAddress);
  });

  test.skipIf(part.missing)("the client's address arrives, whatever the client says about it", async () => {
    const name = `of-${kind}`;
    const body = JSON.stringify({ name, public_key: `ssh-ed25519 ${keyOf(kind)} ${name}` });
    const headers = authorised({ "Content-Type": "application/json", "X-Forwarded-For": claimedAddress });
    const answer = await ask("/api/v1/ssh-keys", { method: "POST", headers }, body);
    expect([answer.statusCode, await text(answer)]).toEqual([201, expect.any(String)]);
    expect(await addressOf("ssh_key.create")).toBe(clientAddress);
  });

  test.skipIf(part.missing)("each event of a stream arrives when it happens", async () => {
    // Nothing happens until the agent goes on: what has arrived until then is what is not buffered.
    agent.signal("SIGSTOP");
    const { job } = await world.createServer(`streamed-${kind}`);
    const stream = await ask(`/api/v1/jobs/${job.id}/events`, { headers: authorised() });
    expect([stream.statusCode, stream.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    stream.setEncoding("utf8");
    let seen = "";
    let isOver = false;
    stream.on("data", (chunk) => (seen += chunk));
    stream.on("end", () => (isOver = true));
    const last = () => {
      const data = [...seen.matchAll(/^data: (.*)$/gm)].at(-1)?.[1];
      return data === undefined ? undefined : (JSON.parse(data) as Schemas["Job"]);
    };
    await expect.poll(() => last()?.id).toBe(job.id);
    expect([last()?.done, isOver]).toEqual([false, false]);
    agent.signal("SIGCONT");
    await expect.poll(() => last()?.status, { timeout: 60_000 }).toBe("succeeded");
    await expect.poll(() => isOver).toBe(true);
  });

  test.skipIf(part.missing)("a console of a server is a websocket through it", async () => {
    const { server, job } = await world.createServer(`console-${kind}`);
    await world.untilDone(job.id);
    const { data: ticket } = await world.organisation.POST("/servers/{server_id}/console", {
      params: { path: { server_id: server.id } },
      body: {},
    });
    if (ticket === undefined) throw new Error("no ticket");
    const viewer = new ConsoleViewer(ticket, proxy.origin, () => `${world.outputs()}\n${proxy.output()}`);
    await viewer.until(() => viewer.bytes.length > 0);
    expect(await viewer.line("", /login: $/)).toMatch(/login: $/);
    viewer.socket.close();
    await viewer.end();
  });

  test.skipIf(part.missing)(
    "an API that is replaced, with another one beside it, fails no request",
    async () => {
      const failures: string[] = [];
      let requests = 0;
      let isOver = false;
      const again = async (what: string, work: () => Promise<IncomingMessage>, expected: number) => {
        while (!isOver) {
          requests += 1;
          const answer = await work().catch((error: Error) => error);
          if (answer instanceof Error) failures.push(`${what}: ${answer.message}`);
          else if (answer.statusCode !== expected) failures.push(`${what}: ${answer.statusCode}`);
          if (!(answer instanceof Error)) answer.resume();
          await delay(20);
        }
      };
      const read = () => ask("/api/v1/me", { headers: authorised() });
      const write = () => {
        const body = JSON.stringify({
          name: `${kind}-${requests}`,
          public_key: `ssh-ed25519 ${keyOf(randomBytes(32))} k`,
        });
        const headers = authorised({ "Content-Type": "application/json" });
        return ask("/api/v1/ssh-keys", { method: "POST", headers }, body);
      };
      // nginx asks nobody whether he is ready. What reaches a socket in the moment in which it closes is sent again only when
      // that can do no harm.
      const writing = kind === "nginx" ? [] : [again("a write", write, 201)];
      const load = Promise.all([again("a read", read, 200), again("a read", read, 200), ...writing]);
      const beside = await world.addApi({ KULE_API_PORT: String(nextApiPort) });
      await delay(2_500);
      world.api.signal("SIGTERM");
      expect(await world.api.ended).toEqual({ code: 0, signal: null });
      await world.startApi();
      await delay(2_500);
      beside.process.signal("SIGTERM");
      expect(await beside.process.ended).toEqual({ code: 0, signal: null });
      isOver = true;
      await load;
      expect([failures, requests > 100]).toEqual([[], true]);
    },
    120_000,
  );

  test.skipIf(part.missing)("a body that nothing of Kule takes is refused before it is sent", async () => {
    for (const path of ["/api/v1/ssh-keys", "/sign-in"]) {
      const headers = authorised({
        "Content-Type": "application/json",
        "Content-Length": String(5 * 1024 ** 2),
      });
      const answer = await ask(path, { method: "POST", headers });
      // By the proxy: what Kule itself answers has an id of the request.
      expect([path, answer.statusCode, answer.headers["x-request-id"]]).toEqual([path, 413, undefined]);
      answer.destroy();
    }
  });
});

async function addressOf(action: string): Promise<string | null | undefined> {
  const { data } = await world.operator.GET("/audit", { params: { query: { action, limit: 1 } } });
  return data?.items[0]?.source_address;
}

/** A public key of its own for each: the API takes none twice. */
function keyOf(key: ProxyKind | Buffer): string {
  const part = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  return Buffer.concat([part(Buffer.from("ssh-ed25519")), part(Buffer.alloc(32, key))]).toString("base64");
}
