import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestOrganisation } from "../../testing/api-world.ts";
import { ServedDomainWorld } from "../../testing/served-domain-world.ts";
import { TestAgent } from "../../testing/test-agent.ts";
import { applyDomainsOfServer } from "./follow-addresses.ts";

let world: ServedDomainWorld;
let acme: TestOrganisation;
let agent: TestAgent;

beforeAll(async () => {
  world = await ServedDomainWorld.open();
  acme = await world.addOrganisation("acme");
  agent = new TestAgent((await world.world.addRegion("ist1")).agent);
  const { operator } = world.world;
  const pool = await operator.post("/ip-pools", {
    region: "ist1",
    name: "public",
    gateway: "100.90.1.1",
    prefix_length: 24,
  });
  await operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr: "100.90.1.0/24" });
  await operator.post(`/ip-pools/${pool.body.id}/allocations`, { organisation_id: acme.id, count: 10 });
  world.startWorker();
});
afterAll(() => world.close());

/** Does the tasks that wait, as the worker does. @returns for how many servers */
async function followAddresses(): Promise<number> {
  const tasks = await world.rows(
    `delete from graphile_worker._private_jobs j using graphile_worker._private_tasks t
      where t.id = j.task_id and t.identifier = 'follow_addresses' returning j.payload`,
  );
  for (const { payload } of tasks) {
    const { organisation_id, server_id } = payload as { organisation_id: string; server_id: string };
    await applyDomainsOfServer(world.world.replica.deps.db, organisation_id, server_id);
  }
  for (const { id } of (await acme.owner.get("/jobs?kind=DomainApply&status=queued&status=running")).body
    .items)
    await world.jobDone(acme.owner, id);
  return tasks.length;
}

test("a record set that follows a server has its address while it has one, and is not served without", async () => {
  const body = { name: "web", region: "ist1", image: "debian-13", package: "s" };
  const { server } = (await acme.owner.post("/servers", body)).body;
  await agent.work();
  const domain = await world.addServedDomain(acme.owner);
  const set = (type: string) =>
    acme.owner.put(`/domains/${domain.id}/records/www/${type}`, { values: [`auto:${server.id}`] });
  const written = await set("A");
  await set("AAAA");
  await world.jobDone(acme.owner, written.body.job.id);
  const served = async () =>
    (await world.provider.readZone(domain.name))?.recordSets
      .filter(({ name }) => name === `www.${domain.name}.`)
      .map(({ type, contents }) => [type, contents]);
  expect(await served()).toEqual([]);
  expect(await followAddresses()).toBe(0);

  const ip = (await acme.owner.post("/public-ips", { region: "ist1" })).body;
  expect((await acme.owner.post(`/public-ips/${ip.id}/attach`, { server_id: server.id })).status).toBe(202);
  // The VM has not got it yet.
  expect(await followAddresses()).toBe(0);
  await agent.work();
  expect(await followAddresses()).toBe(1);
  expect(await served()).toEqual([["A", [ip.address]]]);

  await acme.owner.post(`/public-ips/${ip.id}/detach`);
  await agent.work();
  expect(await followAddresses()).toBe(1);
  expect(await served()).toEqual([]);
  const { items } = (await acme.owner.get(`/domains/${domain.id}/records?name=www`)).body;
  expect(
    items.map(({ values, addresses }: { values: unknown; addresses: unknown }) => [values, addresses]),
  ).toEqual([
    [[`auto:${server.id}`], []],
    [[`auto:${server.id}`], []],
  ]);
});
