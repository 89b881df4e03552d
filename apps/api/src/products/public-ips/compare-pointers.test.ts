import { Resolver } from "node:dns/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DnsProvider, RecordSetChange } from "@kule/dns/dns-provider";
import { powerDnsProvider } from "@kule/dns/powerdns";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { compareAllPointers, serveAllPointers } from "../../worker/serve-all-pointers.ts";

const apiKey = "key-of-this-test";
const zone = "2.0.192.in-addr.arpa";
let world: ApiWorld;
let acme: TestOrganisation;
let folder: string;
let lab: DnsLab;
let provider: DnsProvider;
let resolver: Resolver;
let pool: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-compare-"));
  lab = await startDnsLab({ dataDir: folder, apiKey });
  provider = powerDnsProvider({ url: lab.url, apiKey });
  resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${lab.dnsPort}`]);
  world = await ApiWorld.open({ addressQuarantineSeconds: 0 });
  await world.addRegion("ist1");
  acme = await world.addOrganisation("acme");
  const made = await world.operator.post("/ip-pools", {
    region: "ist1",
    name: "public",
    gateway: "192.0.2.1",
    prefix_length: 24,
    reverse_name: "*.static.example.net",
  });
  pool = `/ip-pools/${made.body.id}`;
  await world.operator.post(`${pool}/ranges`, { cidr: "192.0.2.0/28" });
  await world.operator.post(`${pool}/allocations`, { organisation_id: acme.id, count: 13 });
}, 60_000);
afterAll(async () => {
  await world?.close();
  await lab?.close();
  rmSync(folder, { recursive: true, force: true });
});

const installation = (): Pick<DnsInstallation, "nameServers" | "reverseZones"> => ({
  nameServers: [{ pattern: "*.ns1.kule.test", addresses: [lab.address], port: lab.dnsPort }],
  reverseZones: ["192.0.2.0/24", "198.51.100.0/22"],
});
const deps = () => ({
  db: world.replica.deps.db,
  log: world.replica.deps.log,
  dns: installation() as DnsInstallation,
});
const serve = () => serveAllPointers(deps(), provider);
const compare = (by: DnsProvider = provider) => compareAllPointers(deps(), by);
const nameOf = (address: string) =>
  resolver.reverse(address).catch((error: NodeJS.ErrnoException) => [error.code ?? "failed"]);
const ipOf = async (id: string) => (await acme.owner.get(`/public-ips/${id}`)).body;
const reserve = async (address: string, ptr?: string) => {
  const taken = await acme.owner.post("/public-ips", { region: "ist1", address, ...(ptr && { ptr }) });
  expect(taken.status).toBe(201);
  return taken.body as { id: string };
};
/** As somebody with the provider's key could. */
const byHand = (...changes: RecordSetChange[]) => provider.changeZone(zone, changes);
const record = (name: string, ...contents: string[]): RecordSetChange => ({
  change: "replace",
  recordSet: { name: `${name}.${zone}.`, type: "PTR", ttlSeconds: 60, contents },
});

describe("the names by a pool's pattern", () => {
  test("are answered by the name servers, follow the pattern, give way to an own name, and go with the address", async () => {
    const ip = await reserve("192.0.2.2");
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["192-0-2-2.static.example.net"]);
    expect((await ipOf(ip.id)).ptr_status).toBe("served");

    await world.operator.patch(pool, { reverse_name: "*.dyn.example.net" });
    expect((await ipOf(ip.id)).ptr_status).toBe("pending");
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["192-0-2-2.dyn.example.net"]);

    await acme.owner.patch(`/public-ips/${ip.id}`, { ptr: "web.example.org" });
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["web.example.org"]);
    await acme.owner.patch(`/public-ips/${ip.id}`, { ptr: null });
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["192-0-2-2.dyn.example.net"]);

    await acme.owner.delete(`/public-ips/${ip.id}`);
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["ENOTFOUND"]);
  });

  test("are gone from the name servers when the pool has no pattern any more", async () => {
    const ip = await reserve("192.0.2.3");
    await serve();
    await world.operator.patch(pool, { reverse_name: null });
    expect((await ipOf(ip.id)).ptr_status).toBe("pending");
    await serve();
    expect([await nameOf("192.0.2.3"), (await ipOf(ip.id)).ptr_status]).toEqual([["ENOTFOUND"], "none"]);
    await world.operator.patch(pool, { reverse_name: "*.static.example.net" });
    await serve();
  });
});

describe("a reverse zone", () => {
  test("that somebody changed at the provider is put right by the next comparison", async () => {
    await reserve("192.0.2.4");
    await reserve("192.0.2.5", "Mail.Example.org");
    await reserve("192.0.2.6");
    await serve();
    expect(await compare()).toBe(0);

    await byHand(
      record("4", "wrong.example.net."),
      { change: "delete", name: `5.${zone}.`, type: "PTR" },
      record("6", "192-0-2-6.static.example.net.", "second.example.net."),
      record("9", "free-address.example.net."),
    );
    expect(await compare()).toBe(4);
    expect(await Promise.all(["192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.9"].map(nameOf))).toEqual([
      ["192-0-2-4.static.example.net"],
      ["mail.example.org"],
      ["192-0-2-6.static.example.net"],
      ["ENOTFOUND"],
    ]);
    expect(await compare()).toBe(0);
  });

  test("keeps the records that are not of a pool's address", async () => {
    await byHand(record("200", "router.example.net."), {
      change: "replace",
      recordSet: { name: `note.${zone}.`, type: "TXT", ttlSeconds: 60, contents: ['"of the operator"'] },
    });
    expect(await compare()).toBe(0);
    expect(await nameOf("192.0.2.200")).toEqual(["router.example.net"]);
    expect(await resolver.resolveTxt(`note.${zone}`)).toEqual([["of the operator"]]);
  });

  test("that is gone is made again with all its names", async () => {
    await reserve("192.0.2.7");
    await serve();
    await provider.deleteZone(zone);
    expect(await nameOf("192.0.2.7")).not.toEqual(["192-0-2-7.static.example.net"]);
    expect(await compare()).toBeGreaterThan(0);
    expect(await nameOf("192.0.2.7")).toEqual(["192-0-2-7.static.example.net"]);
  });

  test("is read once for all its names, and one without an address of a pool never", async () => {
    const read: string[] = [];
    const counting: DnsProvider = {
      ...provider,
      readZone: (name, signal) => {
        read.push(name);
        return provider.readZone(name, signal);
      },
    };
    expect(await compare(counting)).toBe(0);
    expect(read).toEqual([zone]);
  });

  test("of a provider that is away is compared later, and its names stay as they are known", async () => {
    const ip = await reserve("192.0.2.8");
    await serve();
    lab.faults.add("error", { calls: 20 });
    expect(await compare()).toBe(0);
    lab.faults.clear();
    expect((await ipOf(ip.id)).ptr_status).toBe("served");
  });
});
