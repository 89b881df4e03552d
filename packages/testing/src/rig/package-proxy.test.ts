import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PackageProxy, startPackageProxy } from "./package-proxy.ts";

let folder = "";
let mirror: Server;
let proxy: PackageProxy;
/** What the mirror was asked for. */
let asked: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-packages-"));
  asked = [];
  mirror = createServer(({ url = "", headers }, response) => {
    asked.push(url);
    if (headers["if-modified-since"] !== undefined) response.writeHead(304).end();
    else if (url.includes("absent")) response.writeHead(404).end();
    else response.writeHead(200, { "last-modified": "Fri, 27 Nov 2026 10:00:00 GMT" }).end(`of ${url}`);
  }).listen(0, "127.0.0.1");
  await once(mirror, "listening");
  proxy = await startPackageProxy(join(folder, "socket"), join(folder, "kept"));
});
afterEach(async () => {
  await proxy.end();
  mirror.closeAllConnections();
  mirror.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (path: string) => `http://127.0.0.1:${(mirror.address() as AddressInfo).port}${path}`;

async function get(path: string, headers = {}, method = "GET"): Promise<string> {
  const sent = request({ socketPath: join(folder, "socket"), path, headers, method, agent: false });
  sent.end();
  const [answer] = await once(sent, "response");
  return `${answer.statusCode} ${await text(answer)}`;
}

test("a package comes from the mirror once, and is kept for the next one", async () => {
  for (const _ of [1, 2]) expect(await get(at("/pool/a_1.deb"))).toBe("200 of /pool/a_1.deb");
  expect(asked).toEqual(["/pool/a_1.deb"]);
  await proxy.end();
  proxy = await startPackageProxy(join(folder, "socket"), join(folder, "kept"));
  expect(await get(at("/pool/a_1.deb"))).toBe("200 of /pool/a_1.deb");
  expect(asked).toEqual(["/pool/a_1.deb"]);
});

test("an index is asked for each time, and may be unchanged", async () => {
  expect(await get(at("/dists/InRelease"))).toBe("200 of /dists/InRelease");
  expect(await get(at("/dists/InRelease"), { "if-modified-since": "Fri, 27 Nov 2026 10:00:00 GMT" })).toBe(
    "304 ",
  );
  expect(await get(at("/pool/absent.deb"))).toBe("404 ");
  expect(readdirSync(join(folder, "kept"))).toEqual([]);
});

test("a mirror that is away is a trouble, and what is no package is refused", async () => {
  expect(await get("http://127.0.0.1:1/pool/b.deb")).toBe("503 ");
  expect(proxy.troubles).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/pool\/b\.deb: /)]);
  expect(await get("/pool/b.deb")).toBe("400 ");
  expect(await get(at("/pool/b.deb"), {}, "POST")).toBe("400 ");
});

test("what nobody has asked for in two months is removed", async () => {
  await get(at("/pool/a_1.deb"));
  const [name = ""] = readdirSync(join(folder, "kept"));
  utimesSync(join(folder, "kept", name), 1, 1);
  await proxy.end();
  proxy = await startPackageProxy(join(folder, "socket"), join(folder, "kept"));
  expect(readdirSync(join(folder, "kept"))).toEqual([]);
});
