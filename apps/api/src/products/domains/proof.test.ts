import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestOrganisation } from "../../testing/api-world.ts";
import { ServedDomainWorld } from "../../testing/served-domain-world.ts";

let world: ServedDomainWorld;
let acme: TestOrganisation;
let rival: TestOrganisation;

beforeAll(async () => {
  world = await ServedDomainWorld.open();
  acme = await world.addOrganisation("acme");
  rival = await world.addOrganisation("rival");
});
afterAll(() => world.close());

const verify = (organisation: TestOrganisation, id: string) =>
  organisation.owner.post(`/domains/${id}/verify`);
const statusOf = async (organisation: TestOrganisation, id: string) =>
  (await organisation.owner.get(`/domains/${id}`)).body.status;

describe("adding a domain", () => {
  test("answers what proves it, and serves nothing before", async () => {
    const name = world.name();
    const { status, body, headers } = await acme.owner.post("/domains", {
      name: `${name.toUpperCase()}.`,
      ttl: 300,
      labels: { team: "web" },
      description: "shop",
    });
    expect(status).toBe(201);
    expect(body.job).toBeNull();
    const { domain } = body;
    expect(headers.get("Location")).toBe(`/api/v1/domains/${domain.id}`);
    expect(domain).toMatchObject({
      name,
      status: "pending",
      ttl: 300,
      labels: { team: "web" },
      description: "shop",
      serial: null,
      delegation: { state: "unknown", observed: [] },
      dnssec: { enabled: false, ds: [] },
      actions: {
        verify: { allowed: true },
        change: { allowed: true },
        apply: { allowed: false, code: "domain_not_proven" },
        delete: { allowed: true },
        cancel_deletion: { allowed: false, code: "invalid_state" },
      },
    });
    expect(domain.verification.record).toEqual({
      name: `_kule-verification.${name}`,
      type: "TXT",
      value: expect.stringMatching(/^kule-verification=[0-9a-f]{32}$/),
    });
    expect(domain.name_servers).toEqual([
      expect.stringMatching(/^k[a-z0-9]{12}\.ns1\.kule\.example$/),
      expect.stringMatching(/^k[a-z0-9]{12}\.ns2\.kule\.example$/),
    ]);
    expect(await world.provider.readZone(name)).toBeNull();
    expect((await acme.owner.get(`/domains/${name}`)).body.id).toBe(domain.id);
    expect((await rival.owner.get(`/domains/${name}`)).status).toBe(404);
  });

  test("names the field that is no domain", async () => {
    const { status, body } = await acme.owner.post("/domains", { name: "192.0.2.1" });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: "/name", code: "invalid_format" }]);
    expect((await acme.owner.post("/domains", { name: "2.0.192.in-addr.arpa" })).status).toBe(422);
    const suffix = await acme.owner.post("/domains", { name: "Co.UK" });
    expect(suffix.body.errors).toMatchObject([
      { pointer: "/name", message: expect.stringContaining("such as example.co.uk") },
    ]);
  });

  test("in which the reverse names of public IPs are served is refused to operators too", async () => {
    const { dns } = world.world.replica.deps.settings;
    if (dns === null) throw new Error("there is no DNS file");
    const replica = await world.world.addReplica({
      dns: { ...dns, file: { ...dns.file, reverseZones: ["192.0.2.0/24"] } },
    });
    const add = (name: string) =>
      world.world.operator.at(replica.app).post("/domains", { name }, { "Kule-Organisation": acme.id });
    for (const name of ["2.0.192.in-addr.arpa", "7.2.0.192.in-addr.arpa"])
      expect((await add(name)).body.errors).toMatchObject([
        { pointer: "/name", message: expect.stringContaining("served in 2.0.192.in-addr.arpa") },
      ]);
    expect((await add("3.0.192.in-addr.arpa")).status).toBe(201);
  });

  test("with a zone file has its records, and a wrong line adds nothing", async () => {
    const name = world.name();
    const wrong = await acme.owner.post("/domains", { name, zone_file: "www IN A 192.0.2.300\n" });
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors[0].message).toContain("line 1");
    const lines = Array.from({ length: 150 }, (_, index) => `x${index} 300 IN A nowhere`).join("\n");
    const many = await acme.owner.post("/domains", { name, zone_file: lines });
    expect([many.status, many.body.errors.length, many.body.errors_left_out]).toEqual([422, 100, 50]);
    const domain = await world.addDomain(acme.owner, { zone_file: "www IN A 192.0.2.1\n@ IN MX 10 mail\n" });
    expect(domain.record_count).toBe(2);
  });

  test("of a name that the organisation has is refused with its id", async () => {
    const domain = await world.addDomain(acme.owner);
    const again = await acme.owner.post("/domains", { name: domain.name });
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({
      code: "name_taken",
      precondition: { name: "domain_name_free", resource: domain.id },
    });
  });

  test("keeps to the quota of domains", async () => {
    const small = await world.addOrganisation("small");
    await world.world.operator.put(`/organisations/${small.id}/quotas`, { limits: { domains: 1 } });
    await world.addDomain(small.owner);
    const second = await small.owner.post("/domains", { name: world.name() });
    expect(second.body).toMatchObject({
      code: "quota_exceeded",
      precondition: { name: "quota_domains", quota: { limit: 1, used: 1, asked: 1 } },
    });
  });

  test("is refused while too many are not proven", async () => {
    const hoarder = await world.addOrganisation("hoarder");
    for (let count = 0; count < 20; count += 1) await world.addDomain(hoarder.owner);
    const { status, body } = await hoarder.owner.post("/domains", { name: world.name() });
    expect(status).toBe(409);
    expect(body.precondition.name).toBe("domains_pending_few");
  });
});

describe("the proof of a domain", () => {
  test("is its TXT record", async () => {
    const domain = await world.addDomain(acme.owner);
    const early = await verify(acme, domain.id);
    expect(early.status).toBe(409);
    expect(early.body).toMatchObject({
      code: "domain_not_proven",
      precondition: { name: "domain_proven", resource: domain.id },
    });
    expect(early.body.precondition.message).toContain(`_kule-verification.${domain.name} has no TXT record`);
    const { verification } = (await acme.owner.get(`/domains/${domain.id}`)).body;
    expect(verification.checked_at).not.toBeNull();
    expect(verification.seen).toContain("has no TXT record");

    await world.enterProof(domain);
    const proven = await verify(acme, domain.id);
    expect(proven.status).toBe(202);
    expect(proven.body).toMatchObject({
      domain: { status: "provisioning", verification: null, verified_by: "record" },
      job: { kind: "DomainApply", region: null, resource: { type: "domain", name: domain.name } },
    });
    const again = await verify(acme, domain.id);
    expect([again.status, again.body.job]).toEqual([200, null]);
  });

  test("is a delegation to one of its own name servers", async () => {
    const domain = await world.addDomain(acme.owner);
    await world.register({ [`${domain.name} NS`]: ["ns1.elsewhere.example."] });
    const elsewhere = await verify(acme, domain.id);
    expect(elsewhere.status).toBe(409);
    expect(elsewhere.body.precondition.message).toContain("is delegated to ns1.elsewhere.example");
    await world.register({
      [`${domain.name} NS`]: ["ns1.elsewhere.example.", `${domain.name_servers[1]}.`],
    });
    expect((await verify(acme, domain.id)).status).toBe(202);
  });

  test("is not another organisation's record or delegation", async () => {
    const ours = await world.addDomain(acme.owner);
    const theirs = (await rival.owner.post("/domains", { name: ours.name })).body.domain;
    await world.enterProof(ours);
    expect((await verify(rival, theirs.id)).body.code).toBe("domain_not_proven");
    await world.register({ [`_kule-verification.${ours.name} TXT`]: [] });
    await world.delegate(ours);
    expect((await verify(rival, theirs.id)).body.code).toBe("domain_not_proven");
  });

  test("does not count behind an alias, which may lead to what others can write", async () => {
    const domain = await world.addDomain(acme.owner);
    await world.register({
      [`_kule-verification.${domain.name} CNAME`]: [`hosted.${domain.name}.`],
      [`hosted.${domain.name} TXT`]: [`"${domain.verification?.record.value}"`],
    });
    const refused = await verify(acme, domain.id);
    expect(refused.status).toBe(409);
    expect(refused.body.precondition.message).toContain("is an alias of");
  });

  test("cannot be looked for while nobody answers: 503 with the time to try again", async () => {
    const silent = await world.world.addReplica({
      dns: {
        path: "dns.yaml",
        file: {
          nameServers: world.world.replica.deps.settings.dns?.file.nameServers ?? [],
          // Nothing listens there.
          resolving: { start: { kind: "roots", addresses: ["127.0.0.1"] }, port: 9, allowPrivate: true },
          reverseZones: [],
        },
      },
    });
    const domain = await world.addDomain(acme.owner);
    const { status, headers, body } = await acme.owner.at(silent.app).post(`/domains/${domain.id}/verify`);
    expect(status).toBe(503);
    expect(Number(headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(body.code).toBe("unavailable");
    expect(await statusOf(acme, domain.id)).toBe("pending");
  });

  test("is not needed inside of an own domain", async () => {
    const parent = await world.addDomain(acme.owner);
    await world.enterProof(parent);
    await verify(acme, parent.id);
    const { status, body } = await acme.owner.post("/domains", {
      name: `dev.${parent.name}`,
      zone_file: "www IN A 192.0.2.1\n",
    });
    expect(status).toBe(202);
    expect(body.domain).toMatchObject({
      status: "provisioning",
      verified_by: "parent",
      verification: { expires_at: null },
      record_count: 1,
    });
    expect(body.job.kind).toBe("DomainApply");
  });

  test("of a name inside of another organisation's domain needs a delegation there first", async () => {
    const parent = await world.addDomain(acme.owner);
    await world.enterProof(parent);
    await verify(acme, parent.id);
    const name = `shop.${parent.name}`;
    const refused = await rival.owner.post("/domains", { name });
    expect(refused.body).toMatchObject({ code: "domain_taken", precondition: { resource: null } });
    await acme.owner.put(`/domains/${parent.id}/records/shop/NS`, { values: ["ns1.rival.example."] });
    const added = await rival.owner.post("/domains", { name });
    expect(added.status).toBe(201);
    await world.enterProof(added.body.domain);
    expect((await verify(rival, added.body.domain.id)).status).toBe(202);
  });
});

describe("several organisations that want one name", () => {
  test("the first that proves it has it, and the others lose their claims", async () => {
    const ours = await world.addDomain(acme.owner);
    const theirs = (await rival.owner.post("/domains", { name: ours.name })).body.domain;
    await world.enterProof(ours);
    expect((await verify(acme, ours.id)).status).toBe(202);
    expect(await statusOf(rival, theirs.id)).toBe("lost");
    await world.enterProof(theirs);
    const late = await verify(rival, theirs.id);
    expect(late.body).toMatchObject({ code: "domain_taken", precondition: { resource: theirs.id } });
    const audit = () =>
      world.rows("select organisation_id, action from audit where resource = $1 and action = 'domain.lose'", [
        theirs.id,
      ]);
    await world.endDomains();
    expect(await audit()).toEqual([{ organisation_id: rival.id, action: "domain.lose" }]);
    expect((await rival.owner.delete(`/domains/${theirs.id}`)).status).toBe(204);
  });

  test("two that prove it at the same moment: one has it", async () => {
    for (let round = 0; round < 5; round += 1) {
      const ours = await world.addDomain(acme.owner);
      const theirs = (await rival.owner.post("/domains", { name: ours.name })).body.domain;
      const name = `_kule-verification.${ours.name} TXT`;
      await world.register({
        [name]: [`"${ours.verification?.record.value}"`, `"${theirs.verification.record.value}"`],
      });
      const answers = await Promise.all([verify(acme, ours.id), verify(rival, theirs.id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
      const statuses = [await statusOf(acme, ours.id), await statusOf(rival, theirs.id)];
      expect(statuses.sort()).toEqual(["lost", "provisioning"]);
    }
  });

  test("a parent and a name inside of it that are proven at the same moment: both, and the parent delegates", async () => {
    for (let round = 0; round < 3; round += 1) {
      const parent = await world.addDomain(acme.owner);
      const child = (await rival.owner.post("/domains", { name: `shop.${parent.name}` })).body.domain;
      await world.enterProof(parent);
      await world.enterProof(child);
      const [ofParent, ofChild] = await Promise.all([verify(acme, parent.id), verify(rival, child.id)]);
      expect(ofParent.status).toBe(202);
      // Behind the parent the child would need its delegation.
      expect([202, 409]).toContain(ofChild.status);
      const [{ kept_delegations: kept } = {}] = await world.rows(
        "select kept_delegations from domain where id = $1",
        [parent.id],
      );
      expect(kept).toEqual(ofChild.status === 202 ? [child.name] : []);
    }
  });
});

describe("time", () => {
  test("proves a domain without anybody asking, with pauses that grow", async () => {
    const domain = await world.addDomain(acme.owner);
    await world.enterProof(domain);
    expect((await world.check()).proven).toBe(0);
    await world.rows("update domain set created_at = created_at - interval '2 minutes' where id = $1", [
      domain.id,
    ]);
    await world.check();
    expect(await statusOf(acme, domain.id)).toBe("provisioning");
    const audit = await world.rows("select actor_name, action from audit where resource = $1", [domain.id]);
    expect(audit).toContainEqual({ actor_name: "domain verification", action: "domain.verify" });

    const old = await world.addDomain(acme.owner);
    await world.rows(
      `update domain set created_at = created_at - interval '2 days',
              verification_checked_at = clock_timestamp() - interval '59 minutes' where id = $1`,
      [old.id],
    );
    await world.enterProof(old);
    await world.check();
    expect(await statusOf(acme, old.id)).toBe("pending");
    await world.rows(
      "update domain set verification_checked_at = clock_timestamp() - interval '61 minutes' where id = $1",
      [old.id],
    );
    await world.check();
    expect(await statusOf(acme, old.id)).toBe("provisioning");
  });

  test("ends a claim after 7 days, deletes it after 30 more, and the name can be added again", async () => {
    const domain = await world.addDomain(acme.owner);
    await world.rows("update domain set created_at = created_at - interval '7 days' where id = $1", [
      domain.id,
    ]);
    await world.enterProof(domain);
    // Before the worker has seen it, too.
    expect((await verify(acme, domain.id)).body.code).toBe("domain_not_proven");
    expect(await statusOf(acme, domain.id)).toBe("expired");
    const again = await acme.owner.post("/domains", { name: domain.name });
    expect(again.status).toBe(201);
    expect((await acme.owner.get(`/domains/${domain.id}`)).status).toBe(404);

    const other = await world.addDomain(acme.owner);
    await world.rows("update domain set created_at = created_at - interval '7 days' where id = $1", [
      other.id,
    ]);
    expect((await world.check()).expired).toBeGreaterThan(0);
    expect(await statusOf(acme, other.id)).toBe("expired");
    await world.endDomains();
    const noted = await world.rows("select actor_name, action from audit where resource = $1", [other.id]);
    expect(noted).toContainEqual({ actor_name: "domain verification", action: "domain.expire" });
    await world.rows("update domain set updated_at = updated_at - interval '31 days' where id = $1", [
      other.id,
    ]);
    await world.check();
    expect((await acme.owner.get(`/domains/${other.id}`)).status).toBe(404);
  });
});
