import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PortTaken } from "../port-taken.ts";
import { type DnsLab, startDnsLab } from "./dns-lab.ts";

const apiKey = "key";
let dataDir: string;
let lab: DnsLab;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "kule-dns-"));
  lab = await startDnsLab({ dataDir, apiKey });
});
afterEach(async () => {
  await lab.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function call(
  method: string,
  path: string,
  body?: unknown,
  key: string | null = apiKey,
  milliseconds = 30_000,
): Promise<{ status: number; type: string | null; text: string }> {
  const response = await fetch(`${lab.url}/api/v1/servers/localhost${path}`, {
    method,
    headers: key === null ? {} : { "X-API-Key": key },
    body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(milliseconds),
  });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}
const zone = { name: "a.example.", kind: "Native", nameservers: ["ns.test."], soa_edit_api: "INCREASE" };
const PLAIN = "text/plain; charset=utf-8";

describe("the stand-in's API", () => {
  test("answers in plain text where PowerDNS' web server does", async () => {
    expect(await call("GET", "/zones", undefined, null)).toEqual({
      status: 401,
      type: PLAIN,
      text: "Unauthorized",
    });
    expect((await call("GET", "/zones", undefined, "wrong")).status).toBe(401);
    expect((await call("POST", "/zones", zone)).status).toBe(201);
    expect(await call("POST", "/zones", zone)).toEqual({ status: 409, type: PLAIN, text: "Conflict" });
    expect(await call("GET", "/zones/b.example.")).toEqual({ status: 404, type: PLAIN, text: "Not Found" });
    expect((await call("GET", "/nothing")).status).toBe(404);
    expect((await call("PUT", "/zones")).status).toBe(405);
    expect(await call("PATCH", "/zones/a.example.", "{")).toEqual({
      status: 400,
      type: PLAIN,
      text: "Bad Request",
    });
    expect((await call("PATCH", "/zones/a.example.", " ".repeat(3 * 1024 * 1024))).status).toBe(400);
    expect(await call("POST", "/zones", { ...zone, name: "c.example" })).toMatchObject({
      status: 422,
      type: "application/json",
      text: JSON.stringify({ error: "DNS Name 'c.example' is not canonical" }),
    });
  });

  test("keeps zones and keys in files that only their owner reads, and ignores half-written ones", async () => {
    await call("POST", "/zones", zone);
    await call("POST", "/zones/a.example./cryptokeys", {
      keytype: "csk",
      active: true,
      algorithm: "ECDSAP256SHA256",
    });
    const before = (await call("GET", "/zones/a.example./cryptokeys")).text;
    const files = readdirSync(dataDir);
    expect(files.map((file) => statSync(join(dataDir, file)).mode & 0o777)).toEqual([0o600]);
    await lab.close();
    writeFileSync(join(dataDir, "half.json.tmp"), "{");
    lab = await startDnsLab({ dataDir, apiKey });
    expect((await call("GET", "/zones/a.example./cryptokeys")).text).toBe(before);
  });

  test("says which port is taken", async () => {
    const apiPort = Number(new URL(lab.url).port);
    await expect(startDnsLab({ dataDir, apiKey, apiPort })).rejects.toThrow(PortTaken);
    await expect(startDnsLab({ dataDir, apiKey, dnsPort: lab.dnsPort })).rejects.toThrow(
      `port ${lab.dnsPort} is taken`,
    );
  });
});

describe("faults", () => {
  test("meet the next calls that match, and the others not", async () => {
    lab.faults.add("error", { method: "POST", calls: 2 });
    expect((await call("GET", "/zones")).status).toBe(200);
    expect((await call("POST", "/zones", zone)).status).toBe(500);
    expect((await call("POST", "/zones", zone)).status).toBe(500);
    expect((await call("POST", "/zones", zone)).status).toBe(201);
  });

  test("a lost reply is of a call that was done; a cut and a hanging one were not", async () => {
    lab.faults.add("lost-reply", { path: /\/zones$/ });
    await expect(call("POST", "/zones", zone)).rejects.toThrow();
    expect((await call("GET", "/zones/a.example.")).status).toBe(200);
    for (const [fault, milliseconds] of [
      ["cut", 30_000],
      ["hang", 500],
    ] as const) {
      lab.faults.add(fault, { method: "DELETE" });
      await expect(call("DELETE", "/zones/a.example.", undefined, apiKey, milliseconds)).rejects.toThrow();
      expect((await call("GET", "/zones/a.example.")).status).toBe(200);
    }
    lab.faults.add("error");
    lab.faults.clear();
    expect((await call("DELETE", "/zones/a.example.")).status).toBe(204);
  });
});
