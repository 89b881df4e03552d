import { createServer, type IncomingMessage, type Server } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { seededGenerator } from "@kule/lab/runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Exchange, HttpFaultProxy } from "./http-fault-proxy.ts";
import { ownCertificate } from "./own-certificate.ts";

/** The effects of the server behind the proxy, in order. */
let done: string[] = [];
let server: Server;
let target: string;
let proxy: HttpFaultProxy;
let exchanges: Exchange[] = [];

beforeEach(async () => {
  done = [];
  exchanges = [];
  server = createServer((request, response) => void answer(request).then((body) => response.end(body)));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy = await HttpFaultProxy.open({
    target,
    random: seededGenerator(1),
    onExchange: (exchange) => exchanges.push(exchange),
  });
});
afterEach(async () => {
  await proxy.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

async function answer(request: IncomingMessage): Promise<string> {
  const body = await text(request);
  if (request.url === "/slow") await delay(30);
  done.push(`${request.method} ${request.url} ${body}`.trim());
  return `effect ${done.length}`;
}

const get = async (path: string, signal?: AbortSignal) =>
  (await fetch(`${proxy.origin}${path}`, signal === undefined ? {} : { signal })).text();
const post = async (path: string, body: string) =>
  (await fetch(`${proxy.origin}${path}`, { method: "POST", body })).text();

describe("the proxy", () => {
  test("passes everything on while no fault is set", async () => {
    expect(await post("/a?b=c", "body")).toBe("effect 1");
    expect(done).toEqual(["POST /a?b=c body"]);
    await proxy.quiet();
    expect(exchanges).toMatchObject([
      { method: "POST", path: "/a?b=c", requestBody: "body", fault: null, returned: 0 },
    ]);
    expect(exchanges[0]?.answers).toEqual([{ status: 200, body: "effect 1" }]);
  });

  test("hits what a fault names: by method, path, from the nth on, so many times", async () => {
    const off = proxy.add({
      action: "drop-before",
      method: "POST",
      path: /^\/a/,
      when: (body) => body !== "0",
      nth: 2,
      count: 1,
    });
    expect(await post("/a", "0")).toBe("effect 1");
    expect(await post("/a", "1")).toBe("effect 2");
    expect(await get("/a")).toBe("effect 3");
    await expect(post("/a", "2")).rejects.toThrow();
    expect(await post("/a", "3")).toBe("effect 4");
    expect(off()).toBe(1);
    expect(proxy.counts()).toEqual({ forwarded: 4, "drop-before": 1 });
  });

  test("hits at random by its seed, the same each time", async () => {
    const runs: string[] = [];
    for (let run = 0; run < 2; run += 1) {
      const seeded = await HttpFaultProxy.open({ target, random: seededGenerator(7) });
      seeded.add({ action: "drop-before", probability: 0.5 });
      let hits = "";
      for (let call = 0; call < 20; call += 1)
        hits += await fetch(seeded.origin).then(
          () => ".",
          () => "x",
        );
      runs.push(hits);
      await seeded.close();
    }
    expect(runs[0]).toBe(runs[1]);
    expect(runs[0]).toContain("x");
    expect(runs[0]).toContain(".");
  });

  test("distinguishes a request lost before its effect from one lost after it", async () => {
    for (const action of ["drop-before", "reset"] as const) {
      proxy.add({ action, count: 1 });
      await expect(get("/lost")).rejects.toThrow();
      expect(done).toEqual([]);
    }
    proxy.add({ action: "drop-after", count: 1 });
    await expect(get("/lost")).rejects.toThrow();
    expect(done).toEqual(["GET /lost"]);
    await proxy.quiet();
    expect(exchanges.map(({ fault, returned, answers }) => [fault, returned, answers.length])).toEqual([
      ["drop-before", null, 0],
      ["reset", null, 0],
      ["drop-after", null, 1],
    ]);
  });

  test("resets as a TCP reset, and closes otherwise", async () => {
    proxy.add({ action: "reset", count: 1 });
    const { cause } = await get("/").then(
      () => expect.fail("an answer"),
      (error: Error) => error,
    );
    expect((cause as { code?: string }).code).toBe("ECONNRESET");
  });

  test("swallows a request until its caller gives up", async () => {
    proxy.add({ action: "blackhole", count: 1 });
    await expect(get("/", AbortSignal.timeout(50))).rejects.toThrow();
    await proxy.quiet();
    expect(done).toEqual([]);
  });

  test("delays, and drips the reply byte by byte", async () => {
    const off = proxy.add({ action: "delay", milliseconds: 60 });
    let before = performance.now();
    await get("/");
    expect(performance.now() - before).toBeGreaterThanOrEqual(59);
    off();
    proxy.add({ action: "drip", milliseconds: 10 });
    before = performance.now();
    expect(await get("/")).toBe("effect 2");
    expect(performance.now() - before).toBeGreaterThanOrEqual(79);
  });

  test("sends copies concurrently and one after the other, and returns one of the replies", async () => {
    for (const order of ["at-once", "one-after-other"] as const)
      for (const copies of [2, 3] as const) {
        done = [];
        const off = proxy.add({ action: "duplicate", copies, order, apartMs: 5 });
        const replies = new Set<string>();
        for (let call = 0; call < 12; call += 1) replies.add(await post(`/${call}`, "x"));
        await proxy.quiet();
        off();
        expect(done.length).toBe(12 * copies);
        const returned = exchanges.splice(0).map((each) => each.returned);
        expect(new Set(returned).size).toBe(copies);
        expect(replies.size).toBe(12);
      }
  });

  test("continues with copies whose caller has its reply", async () => {
    proxy.add({ action: "duplicate", copies: 2, order: "one-after-other", apartMs: 200 });
    let wasAhead = false;
    for (let call = 0; call < 10 && !wasAhead; call += 1) {
      const before = done.length;
      await post("/", "x");
      wasAhead = done.length === before + 1;
      await proxy.quiet();
      expect(done.length).toBe(before + 2);
    }
    expect(wasAhead).toBe(true);
  });

  test("lets a later request overtake, and holds none forever", async () => {
    proxy.add({ action: "reorder", heldMs: 5_000, path: /first/ });
    const held = get("/first");
    await delay(20);
    await get("/second");
    await held;
    expect(done).toEqual(["GET /second", "GET /first"]);
    proxy.clear();
    proxy.add({ action: "reorder", heldMs: 30 });
    expect(await get("/alone")).toBe("effect 3");
  });

  test("breaks off upstream what its caller broke off", async () => {
    let upstreamGone = false;
    server.removeAllListeners("request");
    server.on("request", (_, response) => response.once("close", () => (upstreamGone = true)));
    await expect(get("/parked", AbortSignal.timeout(50))).rejects.toThrow();
    await expect.poll(() => upstreamGone).toBe(true);
  });

  test("cuts the caller off when nothing is behind it", async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    await expect(get("/")).rejects.toThrow();
  });
});

describe("between an agent and a lab", () => {
  test("it uses TLS with a certificate of its own to both sides, keeps the reason phrase, and resets", async () => {
    const lab = https.createServer(
      { key: identity.keyPem, cert: identity.certificatePem },
      (_request, response) => response.writeHead(595, "Connection refused").end("x"),
    );
    await new Promise<void>((listening) => lab.listen(0, "127.0.0.1", listening));
    const own = ownCertificate();
    const between = await HttpFaultProxy.open({
      target: `https://127.0.0.1:${(lab.address() as AddressInfo).port}`,
      random: seededGenerator(1),
      identity: own,
    });
    const call = () =>
      new Promise<{ fingerprint: string; status: string }>((resolve, reject) => {
        const request = https.get(between.origin, { rejectUnauthorized: false, agent: false }, (response) => {
          const { fingerprint256 } = (response.socket as import("node:tls").TLSSocket).getPeerCertificate();
          response.resume();
          resolve({
            fingerprint: fingerprint256,
            status: `${response.statusCode} ${response.statusMessage}`,
          });
        });
        request.on("error", reject);
      });
    expect(await call()).toEqual({ fingerprint: own.fingerprint256, status: "595 Connection refused" });
    between.add({ action: "reset", count: 1 });
    await expect(call()).rejects.toThrow(/ECONNRESET|socket hang up/);
    await between.close();
    lab.closeAllConnections();
    lab.close();
  });
});

const identity = ownCertificate();
