import { once } from "node:events";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { makeKeyPair, privateKeyOf, signSuccessor } from "@kule/agent-release/publish";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../app.ts";
import { ReleaseFolder } from "../platform/release-folder.ts";
import type { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, openReplica, type Replica } from "../testing/api-world.ts";
import { ReleaseFolders } from "../testing/release-folders.ts";

let world: ApiWorld;
let replica: Replica;
let agent: ApiCaller;
let folders: ReleaseFolders;
let server: ReturnType<typeof serve>;
let origin: string;
/** Of 1.4.0 for x64, more than a socket takes at once. */
let bytes: Buffer;

beforeAll(async () => {
  world = await ApiWorld.open();
  agent = (await world.addRegion("ist1")).agent;
  folders = new ReleaseFolders();
  const open = await openReplica(world.database, { agentReleases: folders.path });
  // Read again at each request.
  const releases = new ReleaseFolder(folders.path, 0);
  replica = { ...open, deps: { ...open.deps, releases } };
  server = serve({
    fetch: createApp(replica.deps).fetch,
    port: 0,
    hostname: "127.0.0.1",
    overrideGlobalObjects: false,
  });
  if (!server.listening) await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await replica.close();
  await world.close();
  folders.remove();
});
beforeEach(async () => {
  bytes = folders.add("1.4.0", {}, Buffer.alloc(8_000_000, "kule"));
  await replica.deps.releases.checked();
});

const path = "/api/v1/agent/releases/1.4.0/files/x64";

async function fetched(target: string, headers: Record<string, string> = {}, method = "GET") {
  const response = await fetch(origin + target, {
    method,
    headers: { Authorization: `Bearer ${agent.token}`, ...headers },
  });
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body };
}

async function problem(target: string, headers: Record<string, string> = {}) {
  const answer = await fetched(target, headers);
  return [answer.status, JSON.parse(answer.body.toString()).code];
}

const quoted = (release: { sha256: string } | undefined) => `"${release?.sha256}"`;
const etag = async () => quoted((await replica.deps.releases.find("1.4.0"))?.files[0]);

describe("a release of the agent", () => {
  test("has its manifest as the publisher signed it", async () => {
    const { status, body } = await fetched("/api/v1/agent/releases/1.4.0");
    expect(status).toBe(200);
    const { manifest } = JSON.parse(body.toString());
    expect(manifest).toEqual((await replica.deps.releases.find("1.4.0"))?.envelope);
    expect(JSON.parse(Buffer.from(manifest.payload, "base64").toString())).toMatchObject({
      version: "1.4.0",
    });
  });

  test("and the successors of the keys are there, none without keys.json", async () => {
    const keys = async () => JSON.parse((await fetched("/api/v1/agent/release-keys")).body.toString());
    expect(await keys()).toEqual({ envelopes: [] });
    const [first, second] = [makeKeyPair(), makeKeyPair()];
    const successor = signSuccessor({ generation: 2, keys: [second.publicKey] }, [
      privateKeyOf(first.privateKey),
    ]);
    writeFileSync(join(folders.path, "keys.json"), JSON.stringify({ envelopes: [successor] }));
    expect(await keys()).toEqual({ envelopes: [successor] });
    rmSync(join(folders.path, "keys.json"));
  });

  test("is downloaded whole", async () => {
    const { status, headers, body } = await fetched(path);
    expect(status).toBe(200);
    expect(body.equals(bytes)).toBe(true);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-length": "8000000",
      "accept-ranges": "bytes",
      etag: await etag(),
      "x-content-type-options": "nosniff",
    });
  });

  test("is resumed from any byte on", async () => {
    const { status, headers, body } = await fetched(path, { Range: "bytes=7999000-" });
    expect(status).toBe(206);
    expect(body.equals(bytes.subarray(7_999_000))).toBe(true);
    expect(headers.get("content-range")).toBe("bytes 7999000-7999999/8000000");
    expect(headers.get("content-length")).toBe("1000");
    expect((await fetched(path, { Range: "bytes=1-", "If-Range": await etag() })).status).toBe(206);
  });

  test("is sent whole when the first bytes are of another file, and for ranges of other kinds", async () => {
    for (const headers of [
      { Range: "bytes=1-", "If-Range": '"another"' },
      { Range: "bytes=0-9" },
      { Range: "bytes=-5" },
      { Range: "bytes=1-,5-" },
    ])
      expect((await fetched(path, headers)).status).toBe(200);
  });

  test("has no byte after its last one", async () => {
    const answer = await fetched(path, { Range: "bytes=8000000-" });
    expect([answer.status, JSON.parse(answer.body.toString()).code]).toEqual([416, "range_not_satisfiable"]);
    expect(answer.headers.get("content-range")).toBe("bytes */8000000");
    expect((await fetched(path, { Range: "bytes=7999999-" })).body).toHaveLength(1);
  });

  test("is described without its bytes", async () => {
    const { status, headers, body } = await fetched(path, {}, "HEAD");
    expect([status, body.length, headers.get("content-length")]).toEqual([200, 0, "8000000"]);
  });

  test.each([
    ["a version that is none", "/agent/releases/9.9.9"],
    ["a text that is no version", "/agent/releases/latest"],
    ["a way out of the folder", "/agent/releases/..%2f..%2fetc"],
    ["a way back into it", "/agent/releases/1.4.0%2f..%2f1.4.0"],
    ["a NUL", "/agent/releases/1.4.0%00"],
    ["another architecture", "/agent/releases/1.4.0/files/riscv"],
    ["a way out in its place", "/agent/releases/1.4.0/files/..%2f..%2f..%2fetc%2fpasswd"],
  ])("%s is not found", async (_what, target) => {
    expect(await problem(`/api/v1${target}`)).toEqual([404, "not_found"]);
  });

  test.each([
    ["is cut off", () => truncateSync(folders.fileOf("1.4.0"), 4_000_000)],
    ["is swapped", () => writeFileSync(folders.fileOf("1.4.0"), Buffer.alloc(8_000_000))],
    ["is missing", () => rmSync(folders.fileOf("1.4.0"))],
  ])("a file that %s is not offered any more, once that was noticed", async (_what, spoil) => {
    expect((await fetched(path, { Range: "bytes=7999999-" })).status).toBe(206);
    spoil();
    expect((await fetched(path)).status).toBeGreaterThan(400);
    await replica.deps.releases.checked();
    expect(await problem(path)).toEqual([404, "not_found"]);
    // The manifest is: agents are told nothing that is not signed.
    expect((await fetched("/api/v1/agent/releases/1.4.0")).status).toBe(200);
  });

  test("a file that is swapped between two readings of the folder is never sent", async () => {
    const slow = new ReleaseFolder(folders.path);
    await slow.checked();
    const app = createApp({ ...replica.deps, releases: slow });
    writeFileSync(folders.fileOf("1.4.0"), Buffer.alloc(8_000_000));
    const answer = await agent.at(app).get("/agent/releases/1.4.0/files/x64");
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect(answer.headers.get("retry-after")).toBe("5");
    await slow.checked();
    expect((await agent.at(app).get("/agent/releases/1.4.0/files/x64")).status).toBe(404);
    slow.stop();
  });

  test("only agents get it", async () => {
    const { owner } = await world.addOrganisation("acme");
    for (const caller of [owner, world.operator])
      expect((await caller.get("/agent/releases/1.4.0/files/x64")).status).toBe(403);
  });
});

describe("many downloads at once", () => {
  /** One that reads its head and no further. */
  async function begin(): Promise<IncomingMessage> {
    const request = get(origin + path, { agent: false, headers: { Authorization: `Bearer ${agent.token}` } });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.pause();
    return response;
  }

  test("are limited, and a place is free again when one ends", async () => {
    const open: IncomingMessage[] = [];
    for (let each = 0; each < 8; each += 1) open.push(await begin());
    expect(open.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200));
    const refused = await fetched(path);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "15"]);
    // Heads take no place, and neither do ranges that are refused.
    expect((await fetched(path, {}, "HEAD")).status).toBe(200);
    expect((await fetched(path, { Range: "bytes=8000000-" })).status).toBe(416);
    open[0]?.destroy();
    await expect.poll(async () => (await fetched(path)).status).toBe(200);
    // The one that ended well gave its place back too.
    await expect.poll(async () => (await fetched(path)).status).toBe(200);
    for (const each of open) each.destroy();
    await expect.poll(async () => (await fetched(path)).status).toBe(200);
  });

  test("end when the process is told to stop, and the answer is visibly short", async () => {
    const stopping = new AbortController();
    const other = serve({
      fetch: createApp({ ...replica.deps, stopping: stopping.signal }).fetch,
      port: 0,
      hostname: "127.0.0.1",
      overrideGlobalObjects: false,
    });
    if (!other.listening) await once(other, "listening");
    const received: Buffer[] = [];
    const socket: Socket = connect((other.address() as AddressInfo).port, "127.0.0.1");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.token}\r\n\r\n`);
    await once(socket, "readable");
    stopping.abort();
    socket.on("data", (chunk) => received.push(Buffer.from(chunk as Buffer)));
    await once(socket, "close");
    const answer = Buffer.concat(received);
    const body = answer.subarray(answer.indexOf("\r\n\r\n") + 4);
    expect(body.length).toBeLessThan(8_000_000);
    // What an agent resumes from is of the file, to its last byte.
    expect(body.equals(bytes.subarray(0, body.length))).toBe(true);
    other.close();
  });
});
