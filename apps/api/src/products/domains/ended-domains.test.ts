import type { Schemas } from "@kule/contract/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestOrganisation } from "../../testing/api-world.ts";
import { ServedDomainWorld } from "../../testing/served-domain-world.ts";

let world: ServedDomainWorld;
let seller: TestOrganisation;
let buyer: TestOrganisation;

beforeAll(async () => {
  world = await ServedDomainWorld.open({ removalBufferSeconds: 3_600 });
  seller = await world.addOrganisation("seller");
  buyer = await world.addOrganisation("buyer");
  world.startWorker();
});
afterAll(() => world.close());

type Domain = Schemas["Domain"];

const read = async (organisation: TestOrganisation, { id }: Pick<Domain, "id">): Promise<Domain> =>
  (await organisation.owner.get(`/domains/${id}`)).body;
const verify = (organisation: TestOrganisation, { id }: Pick<Domain, "id">) =>
  organisation.owner.post(`/domains/${id}/verify`);
const finish = async (organisation: TestOrganisation) => {
  const open = await organisation.owner.get("/jobs?kind=DomainApply&status=queued&status=running");
  for (const { id } of open.body.items) await world.jobDone(organisation.owner, id);
};
/** One inside of an own domain, served. */
const addInside = async (organisation: TestOrganisation, name: string): Promise<Domain> => {
  const added = await organisation.owner.post("/domains", { name, zone_file: "www 300 IN A 192.0.2.1\n" });
  expect(added.status, JSON.stringify(added.body)).toBe(202);
  await world.jobDone(organisation.owner, added.body.job.id);
  return read(organisation, added.body.domain);
};
const auditOf = ({ id }: Pick<Domain, "id">) =>
  world.rows("select organisation_id, actor_type, action from audit where resource = $1 order by at", [id]);

describe("a domain that was sold", () => {
  test("goes to the buyer, who delegates it, and the seller keeps nothing of it but the records to read", async () => {
    const sold = await world.addServedDomain(seller.owner, { zone_file: "www 300 IN A 192.0.2.1\n" });
    await world.delegate(sold);
    const inside = await addInside(seller, `shop.${sold.name}`);
    const deeper = await addInside(seller, `eu.${inside.name}`);
    const { domain: bought } = (await buyer.owner.post("/domains", { name: sold.name })).body;

    await world.delegate(bought);
    const proven = await verify(buyer, bought);
    expect(proven.status, JSON.stringify(proven.body)).toBe(202);
    expect(proven.body.domain.verified_by).toBe("name_servers");
    expect(await read(seller, sold)).toMatchObject({
      status: "lost",
      record_count: 1,
      actions: { change: { allowed: false, code: "domain_taken" }, delete: { allowed: true } },
    });
    await world.endDomains();
    await finish(seller);
    await world.endDomains();
    for (const lost of [inside, deeper]) {
      expect(await read(seller, lost)).toMatchObject({ status: "lost", deletion: null });
      expect(await world.provider.readZone(lost.name)).toBeNull();
    }
    const records = await seller.owner.get(`/domains/${inside.id}/records`);
    expect(records.body.items).toMatchObject([{ name: "www", values: ["192.0.2.1"] }]);
    for (const lost of [sold, inside])
      expect(await auditOf(lost)).toContainEqual({
        organisation_id: seller.id,
        actor_type: "system",
        action: "domain.lose",
      });

    await world.jobDone(buyer.owner, proven.body.job.id);
    const zone = await world.provider.readZone(sold.name);
    expect(zone?.recordSets.map(({ type }) => type).sort()).toEqual(["NS", "SOA"]);
    expect(await read(buyer, bought)).toMatchObject({ status: "active" });
    // What the seller had inside of it is the buyer's to add.
    expect((await buyer.owner.post("/domains", { name: inside.name })).status).toBe(202);
    await finish(buyer);
  });

  test("shows the buyer what the seller had proven inside of it, and the buyer takes it by adding it", async () => {
    const sold = await world.addServedDomain(seller.owner);
    const inside = await addInside(seller, `shop.${sold.name}`);
    const { record } = inside.verification ?? {};
    await world.register({ [`${record?.name} TXT`]: [`"${record?.value}"`] });
    expect((await verify(seller, inside)).body.domain.verified_by).toBe("record");
    const { domain: bought } = (await buyer.owner.post("/domains", { name: sold.name })).body;
    await world.delegate(bought);
    expect((await verify(buyer, bought)).status).toBe(202);
    await world.endDomains();
    await finish(buyer);
    expect(await read(buyer, bought)).toMatchObject({ kept_delegations: [inside.name] });
    expect(await read(seller, inside)).toMatchObject({ status: "active" });

    // Whoever gives a name away on purpose has to take that back first.
    const given = `/domains/${bought.id}/records/shop/NS`;
    await buyer.owner.put(given, { values: ["ns1.elsewhere.example."] });
    expect((await buyer.owner.post("/domains", { name: inside.name })).body.code).toBe("domain_taken");
    await buyer.owner.delete(given);
    await finish(buyer);
    expect((await buyer.owner.post("/domains", { name: inside.name })).status).toBe(202);
    expect(await read(seller, inside)).toMatchObject({ status: "lost" });
    await world.endDomains();
    await finish(buyer);
    expect((await world.provider.readZone(inside.name))?.recordSets.some(({ type }) => type === "A")).toBe(
      false,
    );
  });

  test("stays with the seller while it is delegated there, whatever record the buyer has entered", async () => {
    const kept = await world.addServedDomain(seller.owner);
    await world.delegate(kept);
    const { domain: wanted } = (await buyer.owner.post("/domains", { name: kept.name })).body;
    await world.enterProof(wanted);
    const refused = await verify(buyer, wanted);
    expect([refused.status, refused.body.code]).toEqual([409, "domain_taken"]);
    expect(refused.body.precondition.message).toContain(
      "delegated to the name servers of another organisation",
    );
    await world.delegate({ name: kept.name, name_servers: [...kept.name_servers, ...wanted.name_servers] });
    expect((await verify(buyer, wanted)).body.code).toBe("domain_taken");
    expect(await read(buyer, wanted)).toMatchObject({ status: "pending" });
    expect(await read(seller, kept)).toMatchObject({ status: "active" });
  });

  test("goes over while the seller's waits in its removal buffer, and the worker sees it by itself", async () => {
    const left = await world.addServedDomain(seller.owner);
    await seller.owner.delete(`/domains/${left.id}`);
    const { domain: wanted } = (await buyer.owner.post("/domains", { name: left.name })).body;
    await world.enterProof(wanted);
    await world.rows("update domain set created_at = created_at - interval '2 minutes' where id = $1", [
      wanted.id,
    ]);
    await world.check();
    expect(await read(seller, left)).toMatchObject({ status: "lost", deletion: null });
    await finish(buyer);
    expect(await read(buyer, wanted)).toMatchObject({ status: "active", verified_by: "record" });
    expect((await seller.owner.post(`/domains/${left.id}/cancel-deletion`)).status).toBe(409);
  });

  test("does not go over while a change of the seller's is on its way to the name servers", async () => {
    const busy = await world.addServedDomain(seller.owner);
    await world.stopWorker();
    await seller.owner.put(`/domains/${busy.id}/records/www/A`, { values: ["192.0.2.9"] });
    const { domain: wanted } = (await buyer.owner.post("/domains", { name: busy.name })).body;
    await world.enterProof(wanted);
    const refused = await verify(buyer, wanted);
    expect([refused.status, refused.body.code]).toEqual([409, "domain_taken"]);
    world.startWorker();
    await finish(seller);
    expect((await verify(buyer, wanted)).status).toBe(202);
    await finish(buyer);
    const zone = await world.provider.readZone(busy.name);
    expect(zone?.recordSets.some(({ type }) => type === "A")).toBe(false);
  });
});

describe("a domain inside of an own one", () => {
  test("keeps its parent from being deleted until it has a proof of its own, or is deleted", async () => {
    const parent = await world.addServedDomain(seller.owner);
    const [first, second] = [
      await addInside(seller, `a.${parent.name}`),
      await addInside(seller, `b.${parent.name}`),
    ];
    for (const query of ["", "?purge=true"]) {
      const refused = await seller.owner.delete(`/domains/${parent.id}${query}`);
      expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
      expect(refused.body.precondition).toMatchObject({
        name: "domain_without_dependents",
        message: expect.stringContaining(`${first.name}, ${second.name}`),
      });
    }
    const early = await verify(seller, first);
    expect([early.status, early.body.code]).toEqual([409, "domain_not_proven"]);
    expect((await read(seller, first)).verification?.seen).toContain("has no TXT record");
    // The record stands in the parent's own zone.
    const { record } = (await read(seller, first)).verification ?? {};
    await world.register({ [`${record?.name} TXT`]: [`"${record?.value}"`] });
    const proven = await verify(seller, first);
    expect([proven.status, proven.body.domain.verified_by]).toEqual([200, "record"]);
    expect((await seller.owner.delete(`/domains/${parent.id}`)).body.precondition.message).not.toContain(
      first.name,
    );
    await seller.owner.delete(`/domains/${second.id}`);
    expect((await seller.owner.delete(`/domains/${parent.id}`)).status).toBe(202);
    // Its parent leaves, so that it would be left without one.
    const late = await seller.owner.post("/domains", { name: `c.${parent.name}` });
    expect([late.status, late.body.domain.status]).toEqual([201, "pending"]);

    await seller.owner.delete(`/domains/${parent.id}?purge=true`);
    await finish(seller);
    expect((await seller.owner.get(`/domains/${parent.id}`)).status).toBe(404);
    await world.endDomains();
    await finish(seller);
    expect(await read(seller, first)).toMatchObject({ status: "active" });
    // It waited for its removal, which could have been cancelled.
    expect(await read(seller, second)).toMatchObject({ status: "lost" });
    expect(await world.provider.readZone(second.name)).toBeNull();
  });

  test("that lies in another proven one does not hold the one between", async () => {
    const top = await world.addServedDomain(seller.owner);
    const between = await addInside(seller, `x.${top.name}`);
    const inner = await addInside(seller, `y.${between.name}`);
    await seller.owner.delete(`/domains/${between.id}?purge=true`);
    await finish(seller);
    await world.endDomains();
    expect(await read(seller, inner)).toMatchObject({ status: "active", verified_by: "parent" });
  });

  test("is not added to a parent whose deletion is decided at the same moment", async () => {
    for (let round = 0; round < 5; round += 1) {
      const parent = await world.addServedDomain(seller.owner);
      const [added, deleted] = await Promise.all([
        seller.owner.post("/domains", { name: `in.${parent.name}` }),
        seller.owner.delete(`/domains/${parent.id}`),
      ]);
      expect(["202 409", "201 202"]).toContain(`${added.status} ${deleted.status}`);
      await finish(seller);
    }
  });
});

test("protection against deletion is removed by those who may", async () => {
  const domain = await world.addDomain(seller.owner);
  const member = await world.world.addToken(seller.id, "member");
  const protect = (on: boolean) => member.patch(`/domains/${domain.id}`, { protection: { delete: on } });
  expect((await protect(true)).status).toBe(200);
  const off = await protect(false);
  expect([off.status, off.body.required]).toEqual([403, ["domain:unprotect"]]);
  expect((await seller.owner.patch(`/domains/${domain.id}`, { protection: { delete: false } })).status).toBe(
    200,
  );
});
