import { seededGenerator } from "@kule/lab/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { HttpFaultProxy } from "../rig/http-fault-proxy.ts";
import { ownCertificate } from "../rig/own-certificate.ts";
import { PostgresFaultProxy } from "../rig/postgres-fault-proxy.ts";
import { viewOfControlServer } from "../world-check/region-invariants.ts";
import { worldCheck } from "../world-check/world-check.ts";

/** All of a server's life, with something going wrong on each of the three ways between the processes. */
let world: RegionWorld;
const proxies: { api?: HttpFaultProxy; postgres?: PostgresFaultProxy; lab?: HttpFaultProxy } = {};

beforeAll(async () => {
  const random = seededGenerator(3);
  world = await startRegionWorld({
    leaseSeconds: 10,
    links: {
      agentToApi: async (target) => {
        proxies.api = await HttpFaultProxy.open({ target, random });
        return proxies.api.origin;
      },
      apiToPostgres: async (url) => {
        proxies.postgres = await PostgresFaultProxy.open({ url, random });
        return proxies.postgres.url;
      },
      agentToLab: async ({ url }) => {
        const identity = ownCertificate();
        proxies.lab = await HttpFaultProxy.open({ target: url, random, identity });
        return { url: proxies.lab.origin, fingerprint256: identity.fingerprint256 };
      },
    },
  });
  world.startAgent();
}, 120_000);
afterAll(async () => {
  await world?.end();
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
});

it("a server is created and deleted once, whatever is lost between the processes", async () => {
  proxies.api?.add({ action: "drop-after", path: /\/steps$/, nth: 2, count: 1 });
  proxies.api?.add({ action: "duplicate", copies: 2, order: "at-once", path: /\/steps$/, nth: 4, count: 2 });
  proxies.lab?.add({ action: "drop-after", method: "POST", path: /\/clone$/, count: 1 });
  proxies.lab?.add({ action: "reset", method: "GET", path: /\/config/, nth: 2, count: 1 });
  // A step's report is one statement, which commits by itself; the settlement is a transaction.
  const lost = { action: "cut-reply", count: 1 } as const;
  proxies.postgres?.add({ at: "statement", matches: /kule_report_progress/, ...lost, nth: 3 });
  proxies.postgres?.add({ at: "commit", matches: /update "job"/, ...lost });

  const { server, job } = await world.createServer("survivor");
  expect((await world.untilDone(job.id)).status).toBe("succeeded");
  const { response } = await world.organisation.DELETE("/servers/{server_id}", {
    params: { path: { server_id: server.id } },
  });
  expect(response.status).toBe(202);
  await expect.poll(() => world.effects().destroys.size, { timeout: 60_000 }).toBe(1);
  expect([...world.effects().clones.values()]).toEqual([1]);
  expect(proxies.api?.counts()).toMatchObject({ "drop-after": 1, duplicate: 2 });
  expect(proxies.lab?.counts()).toMatchObject({ "drop-after": 1, reset: 1 });
  expect(proxies.postgres?.counts()).toMatchObject({ "cut-reply": 2 });
  const regions = [await viewOfControlServer("lab1", world.labControlUrl)];
  expect(await worldCheck({ ownerUrl: world.database.ownerUrl, regions })).toEqual([]);
}, 120_000);
