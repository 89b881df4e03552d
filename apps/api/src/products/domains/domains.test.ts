import { findViolations } from "@kule/invariants/find-violations";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { TestOrganisation } from "../../testing/api-world.ts";
import { ServedDomainWorld } from "../../testing/served-domain-world.ts";

let world: ServedDomainWorld;
let acme: TestOrganisation;
let rival: TestOrganisation;

beforeAll(async () => {
  world = await ServedDomainWorld.open({ removalBufferSeconds: 3600 });
  acme = await world.addOrganisation("acme");
  rival = await world.addOrganisation("rival");
  world.startWorker();
});
afterAll(() => world.close());
afterEach(async () => {
  world.lab.faults.clear();
  const found = await findViolations({ query: async (sql) => ({ rows: await world.rows(sql) }) });
  expect(found).toEqual([]);
});

const read = async (id: string) => (await acme.owner.get(`/domains/${id}`)).body;
/** The values that the provider has. */
async function served(domain: { readonly name: string }, name: string, type: string) {
  const zone = await world.provider.readZone(domain.name);
  const absolute = name === "@" ? `${domain.name}.` : `${name}.${domain.name}.`;
  return zone?.recordSets.find((set) => set.name === absolute && set.type === type)?.contents ?? null;
}
const set = (domain: { readonly id: string }, name: string, type: string, values: readonly string[]) =>
  acme.owner.put(`/domains/${domain.id}/records/${name}/${type}`, { values });

describe("a proven domain", () => {
  test("is served with the records that it had before, and by its own name servers", async () => {
    const domain = await world.addServedDomain(acme.owner, { zone_file: "www IN A 192.0.2.1\n" });
    expect(domain).toMatchObject({ status: "active", job_id: null, drift: null, status_reason: null });
    expect(domain.serial).toBeGreaterThan(0);
    expect(domain.observed_generation).toBe(domain.generation);
    expect(await served(domain, "www", "A")).toEqual(["192.0.2.1"]);
    expect(await served(domain, "@", "NS")).toEqual(domain.name_servers.map((name) => `${name}.`));
  });

  test("serves a change once its job has ended", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const { body } = await set(domain, "www", "AAAA", ["2001:db8::1"]);
    expect((await read(domain.id)).status).toBe("updating");
    await world.jobDone(acme.owner, body.job.id);
    expect(await served(domain, "www", "AAAA")).toEqual(["2001:db8::1"]);
    const after = await read(domain.id);
    expect(after.status).toBe("active");
    expect(after.serial).toBeGreaterThan(domain.serial ?? 0);
  });

  test("takes changes of its own data without a job, and refuses a stale one", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const etag = `"g${domain.generation}"`;
    const changed = await acme.owner.patch(
      `/domains/${domain.id}`,
      { ttl: 120, description: "shop", labels: { team: "web" }, protection: { delete: true } },
      { "If-Match": etag },
    );
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      ttl: 120,
      description: "shop",
      labels: { team: "web" },
      protection: { delete: true },
      status: "active",
    });
    expect(changed.body.observed_generation).toBe(changed.body.generation);
    const stale = await acme.owner.patch(`/domains/${domain.id}`, { ttl: 60 }, { "If-Match": etag });
    expect(stale.status).toBe(412);
    const refused = await acme.owner.delete(`/domains/${domain.id}`);
    expect(refused.body).toMatchObject({
      code: "protected",
      precondition: {
        name: "domain_not_protected",
        fix: `PATCH /domains/${domain.id} {"protection":{"delete":false}}`,
      },
    });
  });

  test("is found in lists by name, label and search", async () => {
    const domain = await world.addDomain(acme.owner, { labels: { list: "yes" } });
    const found = async (query: string) =>
      (await acme.owner.get(`/domains?${query}`)).body.items.map(({ id }: { id: string }) => id);
    expect(await found(`name=${domain.name.toUpperCase()}.`)).toEqual([domain.id]);
    expect(await found("label_selector=list%3Dyes")).toEqual([domain.id]);
    expect(await found(`q=${domain.name}`)).toContain(domain.id);
    expect(await found("name=nothing.example")).toEqual([]);
    expect((await rival.owner.get(`/domains?name=${domain.name}`)).body.items).toEqual([]);
  });

  test("keeps the name servers of names inside of it that others have, for as long as they have them", async () => {
    const parent = await world.addDomain(acme.owner);
    const child = await world.addServedDomain(rival.owner, { name: `shop.${parent.name}` });
    await world.enterProof(parent);
    const proven = await acme.owner.post(`/domains/${parent.id}/verify`);
    await world.jobDone(acme.owner, proven.body.job.id);
    expect(await served(parent, "shop", "NS")).toEqual(child.name_servers.map((name) => `${name}.`));
    const gone = await rival.owner.delete(`/domains/${child.id}?purge=true`);
    await world.jobDone(rival.owner, gone.body.job.id);
    const applied = await acme.owner.post(`/domains/${parent.id}/apply`);
    await world.jobDone(acme.owner, applied.body.job.id);
    expect(await served(parent, "shop", "NS")).toBeNull();
  });
});

describe("deleting a domain", () => {
  test("leaves it served and read-only until its purge time, and can be undone", async () => {
    const domain = await world.addServedDomain(acme.owner, { zone_file: "www IN A 192.0.2.1\n" });
    const deleted = await acme.owner.delete(`/domains/${domain.id}`);
    expect(deleted.status).toBe(202);
    expect(deleted.body).toMatchObject({ domain: { status: "pending_deletion" }, job: null });
    expect(deleted.body.domain.deletion.purge_at).not.toBeNull();
    const change = await set(domain, "www", "A", ["192.0.2.2"]);
    expect(change.body.precondition).toMatchObject({
      name: "domain_not_deleting",
      fix: `POST /domains/${domain.id}/cancel-deletion`,
    });
    expect((await acme.owner.delete(`/domains/${domain.id}`)).body.code).toBe("resource_deleting");
    expect((await world.check()).purged).toBe(0);
    expect(await served(domain, "www", "A")).toEqual(["192.0.2.1"]);

    const kept = await acme.owner.post(`/domains/${domain.id}/cancel-deletion`);
    expect(kept.status).toBe(200);
    expect(kept.body).toMatchObject({ status: "active", deletion: null });
    const again = await acme.owner.post(`/domains/${domain.id}/cancel-deletion`);
    expect(again.body).toMatchObject({
      code: "invalid_state",
      precondition: { name: "domain_in_removal_buffer" },
    });
  });

  test("removes it from its name servers when its time has come", async () => {
    const domain = await world.addServedDomain(acme.owner);
    await acme.owner.delete(`/domains/${domain.id}`);
    await world.rows("update domain set purge_at = clock_timestamp() - interval '1 second' where id = $1", [
      domain.id,
    ]);
    expect((await world.check()).purged).toBe(1);
    const [job] = (await acme.owner.get(`/jobs?resource=${domain.id}`)).body.items;
    expect((await world.jobDone(acme.owner, job.id)).status).toBe("succeeded");
    expect((await acme.owner.get(`/domains/${domain.id}`)).status).toBe(404);
    expect(await world.provider.readZone(domain.name)).toBeNull();
    expect((await acme.owner.get(`/jobs/${job.id}`)).body.resource.name).toBeNull();
    const audit = await world.rows("select actor_name, action from audit where resource = $1", [domain.id]);
    expect(audit).toContainEqual({ actor_name: "removal buffer", action: "domain.purge" });
  });

  test("at its purge time is either undone or done, never both", async () => {
    await world.stopWorker();
    for (let round = 0; round < 8; round += 1) {
      const domain = await world.addDomain(acme.owner);
      await world.enterProof(domain);
      await acme.owner.post(`/domains/${domain.id}/verify`);
      await acme.owner.delete(`/domains/${domain.id}`);
      await world.rows("update domain set purge_at = clock_timestamp() where id = $1", [domain.id]);
      const [undo, { purged }] = await Promise.all([
        acme.owner.post(`/domains/${domain.id}/cancel-deletion`),
        world.check(),
      ]);
      const { status } = await read(domain.id);
      expect([undo.status, purged, status]).toEqual(
        undo.status === 200 ? [200, 0, "provisioning"] : [409, 1, "deleting"],
      );
    }
    world.startWorker();
    for (const { id } of (await acme.owner.get("/jobs?status=queued&status=running")).body.items)
      await world.jobDone(acme.owner, id);
  });

  test("with purge=true needs its own permission, and has no buffer", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const member = await world.world.addToken(acme.id, "member");
    expect((await member.delete(`/domains/${domain.id}?purge=true`)).status).toBe(403);
    const { status, body } = await acme.owner.delete(`/domains/${domain.id}?purge=true`);
    expect([status, body.domain.status]).toEqual([202, "deleting"]);
    expect((await world.jobDone(acme.owner, body.job.id)).status).toBe("succeeded");
    expect(await world.provider.readZone(domain.name)).toBeNull();
  });

  test("that is not proven is done at once", async () => {
    const domain = await world.addDomain(acme.owner);
    expect((await acme.owner.delete(`/domains/${domain.id}`)).status).toBe(204);
    expect((await acme.owner.get(`/domains/${domain.id}`)).status).toBe(404);
  });
});

describe("a provider that is away", () => {
  test("lets the job wait and say so, and the change is served when it is back", async () => {
    const domain = await world.addServedDomain(acme.owner);
    world.lab.faults.add("error", { calls: 1_000 });
    const { body } = await set(domain, "www", "A", ["192.0.2.9"]);
    await expect
      .poll(async () => (await acme.owner.get(`/jobs/${body.job.id}`)).body, { timeout: 20_000 })
      .toMatchObject({ status: "queued", attempt: 1, error: { code: "dns_unavailable" } });
    expect((await read(domain.id)).status).toBe("updating");
    world.lab.faults.clear();
    await world.rows("update job set run_at = clock_timestamp() where id = $1", [body.job.id]);
    expect((await world.jobDone(acme.owner, body.job.id)).status).toBe("succeeded");
    expect(await served(domain, "www", "A")).toEqual(["192.0.2.9"]);
  });
});

describe("a job that has failed", () => {
  test("leaves its reason, can be retried, and is followed by another one an hour later", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const failing = async () => {
      world.lab.faults.add("error", { calls: 1_000 });
      const { body } = await set(domain, "www", "A", [`192.0.2.${++tries}`]);
      // The last of its attempts.
      await world.rows("update job set max_attempts = 1 where id = $1", [body.job.id]);
      const job = await world.jobDone(acme.owner, body.job.id);
      world.lab.faults.clear();
      return job;
    };
    let tries = 0;
    const failed = await failing();
    expect(failed).toMatchObject({ status: "failed", retryable: true });
    expect(await read(domain.id)).toMatchObject({
      status: "error",
      status_reason: { code: "apply_failed", job_id: failed.id },
    });
    expect((await acme.owner.post(`/jobs/${failed.id}/retry`)).status).toBe(202);
    await world.jobDone(acme.owner, failed.id);
    expect(await read(domain.id)).toMatchObject({ status: "active", status_reason: null });

    await failing();
    expect((await world.check()).applied).toBe(0);
    await world.rows("update domain set updated_at = updated_at - interval '61 minutes' where id = $1", [
      domain.id,
    ]);
    expect((await world.check()).applied).toBe(1);
    const { job_id } = await read(domain.id);
    if (job_id !== null) await world.jobDone(acme.owner, job_id);
    expect((await read(domain.id)).status).toBe("active");
    expect(await served(domain, "www", "A")).toEqual(["192.0.2.2"]);
  });
});

describe("DNSSEC", () => {
  test("signs a domain, shows its DS records, and does not end while the parent has them", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const path = `/domains/${domain.id}/dnssec`;
    const on = await acme.owner.put(path, { enabled: true });
    expect(on.status).toBe(202);
    await world.jobDone(acme.owner, on.body.job.id);
    const { dnssec } = await read(domain.id);
    expect(dnssec).toMatchObject({ enabled: true });
    expect(dnssec.ds[0]).toMatch(/^\d+ 13 2 [0-9a-f]{64}$/i);
    expect((await acme.owner.put(path, { enabled: true })).status).toBe(200);

    await world.delegate(domain);
    await world.register({ [`${domain.name} DS`]: [dnssec.ds[0]] });
    const early = await acme.owner.put(path, { enabled: false });
    expect(early.body).toMatchObject({
      code: "ds_at_parent",
      precondition: { name: "ds_not_at_parent", resource: domain.id },
    });
    await world.register({ [`${domain.name} DS`]: [] });
    const off = await acme.owner.put(path, { enabled: false });
    expect(off.status).toBe(202);
    await world.jobDone(acme.owner, off.body.job.id);
    expect((await read(domain.id)).dnssec).toEqual({ enabled: false, ds: [] });
  });

  test("ends by force whatever the parent has", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const path = `/domains/${domain.id}/dnssec`;
    await world.jobDone(acme.owner, (await acme.owner.put(path, { enabled: true })).body.job.id);
    await world.delegate(domain);
    await world.register({ [`${domain.name} DS`]: [(await read(domain.id)).dnssec.ds[0]] });
    expect((await acme.owner.put(path, { enabled: false, force: true })).status).toBe(202);
  });
});

describe("drift", () => {
  test("is found, shown, and put right by an apply", async () => {
    const domain = await world.addServedDomain(acme.owner, {
      zone_file: "www IN A 192.0.2.1\nmail IN A 192.0.2.2\n",
    });
    expect(await world.compare()).toBe(0);
    await world.provider.changeZone(domain.name, [
      {
        change: "replace",
        recordSet: { name: `www.${domain.name}.`, type: "A", ttlSeconds: 60, contents: ["203.0.113.1"] },
      },
      { change: "delete", name: `mail.${domain.name}.`, type: "A" },
      {
        change: "replace",
        recordSet: { name: `odd.${domain.name}.`, type: "TXT", ttlSeconds: 60, contents: ['"x"'] },
      },
    ]);
    await world.rows("update domain set compared_at = compared_at - interval '61 minutes' where id = $1", [
      domain.id,
    ]);
    expect(await world.compare()).toBe(1);
    const { drift, status } = await read(domain.id);
    expect(status).toBe("active");
    expect(drift.left_out).toBe(0);
    expect(drift.differences).toHaveLength(3);
    expect(drift.differences).toContainEqual({
      kind: "different",
      name: "www",
      type: "A",
      wanted: { ttl: 3600, values: ["192.0.2.1"] },
      found: { ttl: 60, values: ["203.0.113.1"] },
    });
    // Each zone at most once an hour.
    expect(await world.compare()).toBe(0);

    const { body } = await acme.owner.post(`/domains/${domain.id}/apply`);
    await world.jobDone(acme.owner, body.job.id);
    expect((await read(domain.id)).drift).toBeNull();
    expect(await served(domain, "www", "A")).toEqual(["192.0.2.1"]);
    expect(await served(domain, "odd", "TXT")).toBeNull();
  });

  test("is looked for again later when the provider does not answer", async () => {
    const domain = await world.addServedDomain(acme.owner);
    await world.rows("update domain set compared_at = compared_at - interval '61 minutes' where id = $1", [
      domain.id,
    ]);
    world.lab.faults.add("error", { calls: 100 });
    expect(await world.compare()).toBe(0);
    world.lab.faults.clear();
    expect(await world.compare()).toBe(1);
  });
});

describe("checking a domain", () => {
  test("says who serves it and where it is delegated to", async () => {
    const domain = await world.addServedDomain(acme.owner);
    const early = (await acme.owner.get(`/domains/${domain.id}/check`)).body;
    expect(early).toMatchObject({
      is_right: false,
      delegation: { state: "none" },
      problems: [{ code: "not_delegated" }],
      wanted_serial: domain.serial,
    });
    expect(early.name_servers.map(({ state }: { state: string }) => state)).toEqual(["serves", "serves"]);
    await world.register({
      [`${domain.name} NS`]: [`${domain.name_servers[0]}.`, "ns1.elsewhere.example."],
    });
    const partly = (await acme.owner.get(`/domains/${domain.id}/check`)).body;
    expect(partly.delegation).toMatchObject({
      state: "partial",
      missing: [domain.name_servers[1]],
      foreign: ["ns1.elsewhere.example"],
    });
    await world.delegate(domain);
    const right = (await acme.owner.get(`/domains/${domain.id}/check`)).body;
    expect(right).toMatchObject({ is_right: true, problems: [], delegation: { state: "right" } });
  });

  test("is repeated by the worker, which notes the delegation", async () => {
    const domain = await world.addServedDomain(acme.owner);
    await world.delegate(domain);
    expect((await world.check()).delegations).toBeGreaterThan(0);
    expect((await read(domain.id)).delegation).toMatchObject({
      state: "right",
      observed: domain.name_servers,
    });
  });
});

describe("an installation without a DNS file", () => {
  test("adds no domains, and says that", async () => {
    const without = await world.world.addReplica({ dns: null });
    const { status, body } = await acme.owner.at(without.app).post("/domains", { name: world.name() });
    expect(status).toBe(409);
    expect(body).toMatchObject({ code: "not_configured", precondition: { name: "dns_configured" } });
  });
});
