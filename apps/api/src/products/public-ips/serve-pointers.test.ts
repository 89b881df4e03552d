import { Resolver } from "node:dns/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { powerDnsProvider } from "@kule/dns/powerdns";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { laggingServers } from "@kule/programs/domains/lagging-servers";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { type PointerService, PointersLag, servePointers } from "./serve-pointers.ts";

const apiKey = "key-of-this-test";
let world: ApiWorld;
let acme: TestOrganisation;
let folder: string;
let lab: DnsLab;
let service: PointerService;
let resolver: Resolver;
/** More name servers, at which nobody answers. */
let silent: { address: string; port: number }[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-pointers-"));
  lab = await startDnsLab({ dataDir: folder, apiKey });
  service = {
    provider: powerDnsProvider({ url: lab.url, apiKey }),
    reverseZones: ["192.0.2.0/24"],
    nameServers: ["ns1.kule.test."],
    lagging: (zone, serial) =>
      laggingServers([{ address: lab.address, port: lab.dnsPort }, ...silent], zone, serial),
  };
  resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${lab.dnsPort}`]);
  world = await ApiWorld.open();
  await world.addRegion("ist1");
  acme = await world.addOrganisation("acme");
  for (const net of ["192.0.2", "198.51.100"]) {
    const pool = await world.operator.post("/ip-pools", {
      region: "ist1",
      name: net,
      gateway: `${net}.1`,
      prefix_length: 24,
    });
    await world.operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr: `${net}.0/29` });
    await world.operator.post(`/ip-pools/${pool.body.id}/allocations`, {
      organisation_id: acme.id,
      count: 5,
    });
  }
}, 60_000);
afterAll(async () => {
  await world?.close();
  await lab?.close();
  rmSync(folder, { recursive: true, force: true });
});

const serve = () => servePointers(world.replica.deps.db, service);
const nameOf = (address: string) =>
  resolver.reverse(address).catch((error: NodeJS.ErrnoException) => [error.code ?? "failed"]);
const statusOf = async (id: string) => (await acme.owner.get(`/public-ips/${id}`)).body.ptr_status;
const reserve = async (address: string, ptr?: string) => {
  const taken = await acme.owner.post("/public-ips", { region: "ist1", address, ...(ptr && { ptr }) });
  expect(taken.status).toBe(201);
  return taken.body as { id: string; ptr_status: string };
};

describe("the reverse name of a public IP", () => {
  test("is answered by the name servers, follows its changes, and goes with the address", async () => {
    const ip = await reserve("192.0.2.2", "Web.Example.org");
    expect(ip.ptr_status).toBe("pending");
    expect(await serve()).toEqual({ served: 1, isAll: true });
    expect([await nameOf("192.0.2.2"), await statusOf(ip.id)]).toEqual([["web.example.org"], "served"]);
    expect(await serve()).toEqual({ served: 0, isAll: true });

    await acme.owner.patch(`/public-ips/${ip.id}`, { ptr: "mail.example.org" });
    expect(await statusOf(ip.id)).toBe("pending");
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["mail.example.org"]);

    expect((await acme.owner.delete(`/public-ips/${ip.id}`)).status).toBe(204);
    await serve();
    expect(await nameOf("192.0.2.2")).toEqual(["ENOTFOUND"]);
  });

  test("is told to be elsewhere when its reverse zone is not served here, until it is", async () => {
    const ip = await reserve("198.51.100.2", "web.example.org");
    await serve();
    expect(await statusOf(ip.id)).toBe("unmanaged");
    await servePointers(world.replica.deps.db, { ...service, reverseZones: ["198.51.100.0/24"] });
    expect([await nameOf("198.51.100.2"), await statusOf(ip.id)]).toEqual([["web.example.org"], "served"]);
  });

  test("waits while the provider is away, and is served when it is back", async () => {
    const ip = await reserve("192.0.2.3", "a.example.org");
    lab.faults.add("error", { calls: 20 });
    await expect(serve()).rejects.toThrow();
    expect(await statusOf(ip.id)).toBe("pending");
    lab.faults.clear();
    await serve();
    expect(await nameOf("192.0.2.3")).toEqual(["a.example.org"]);
  });

  test("is pending until every name server answers with it", async () => {
    const ip = await reserve("198.51.100.3", "late.example.org");
    silent = [{ address: "127.0.0.1", port: 1 }];
    const here = { ...service, reverseZones: ["198.51.100.0/24", ...service.reverseZones] };
    await expect(servePointers(world.replica.deps.db, here)).rejects.toThrow(PointersLag);
    expect(await statusOf(ip.id)).toBe("pending");
    silent = [];

    // A zone that cannot be served delays no other one.
    const other = await reserve("192.0.2.6", "other.example.org");
    const halting: PointerService = {
      ...here,
      lagging: async (zone) => (zone.startsWith("100.51") ? ["one is behind"] : []),
    };
    await expect(servePointers(world.replica.deps.db, halting)).rejects.toThrow(PointersLag);
    expect([await statusOf(ip.id), await statusOf(other.id)]).toEqual(["pending", "served"]);
    await servePointers(world.replica.deps.db, here);
    expect(await statusOf(ip.id)).toBe("served");
  });

  test("is served while a zone cannot be that has more names than one run takes", async () => {
    const { db } = world.replica.deps;
    const owner = new pg.Client({ connectionString: world.database.ownerUrl });
    await owner.connect();
    // As a new pattern of a pool leaves them: before whatever is asked for afterwards.
    await owner.query(`
      insert into public_pointer (address, wanted, updated_at)
        select '10.200.0.0'::inet + n, 'stuck.example.org', now() - interval '1 hour' from generate_series(0, 1199) n`);
    const waiting = await reserve("192.0.2.5", "waiting.example.org");
    const halting: PointerService = {
      ...service,
      reverseZones: ["10.200.0.0/16", ...service.reverseZones],
      lagging: async (zone) => (zone === "200.10.in-addr.arpa" ? ["one is behind"] : []),
    };
    const statuses: string[] = [];
    for (let run = 0; run < 2; run += 1) {
      await expect(servePointers(db, halting)).rejects.toThrow(PointersLag);
      statuses.push(await statusOf(waiting.id));
    }
    expect(statuses).toEqual(["pending", "served"]);
    await owner.query("delete from public_pointer where wanted = 'stuck.example.org'");
    await owner.end();
    await acme.owner.delete(`/public-ips/${waiting.id}`);
    await serve();
  });

  test("that is changed while the old one is served stays due", async () => {
    const ip = await reserve("192.0.2.4", "old.example.org");
    const slow: PointerService = {
      ...service,
      provider: {
        ...service.provider,
        changeZone: async (...call) => {
          await service.provider.changeZone(...call);
          await acme.owner.patch(`/public-ips/${ip.id}`, { ptr: "new.example.org" });
        },
      },
    };
    await servePointers(world.replica.deps.db, slow);
    expect([await nameOf("192.0.2.4"), await statusOf(ip.id)]).toEqual([["old.example.org"], "pending"]);
    await serve();
    expect([await nameOf("192.0.2.4"), await statusOf(ip.id)]).toEqual([["new.example.org"], "served"]);
  });

  test("is not served by an installation without reverse zones", async () => {
    const ip = await reserve("198.51.100.4", "b.example.org");
    await servePointers(world.replica.deps.db, null);
    expect(await statusOf(ip.id)).toBe("unmanaged");
  });
});
