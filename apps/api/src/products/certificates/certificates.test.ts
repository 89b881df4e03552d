import { createPrivateKey, X509Certificate } from "node:crypto";
import { makeKeys } from "@kule/certificates/testing/made-certificates";
import { openSecret, type SealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiRoot } from "../../app.ts";
import { inTransaction } from "../../platform/transaction.ts";
import type { ApiCaller } from "../../testing/api-caller.ts";
import { madeUpload, reportSealingKey } from "../../testing/made-upload.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import {
  type CertificateHooks,
  type CertificateUse,
  lockCertificatesForUse,
  materialOf,
  mountCertificates,
} from "./index.ts";

let world: ServerWorld;
let agentKey: SealingKeyPair;
beforeAll(async () => {
  world = await ServerWorld.open();
  agentKey = await reportSealingKey(world.agent.api);
});
afterAll(() => world.close());

let named = 0;
const newName = () => `cert-${named++}`;
const create = async (names: readonly string[], more: object = {}, caller = world.owned) =>
  caller.post("/certificates", {
    name: newName(),
    type: "uploaded",
    region: world.region,
    ...(await madeUpload(names)),
    ...more,
  });
const sealedKeyOf = async (id: string) =>
  (
    await world.rows("select sealed_key, version from certificate_version where certificate_id = $1", [id])
  )[0];
/** Of the private key, what a text that holds it in any form of PEM holds. */
const middleOf = (pem: string) => pem.split("\n")[1]?.slice(10, 50) ?? "";

describe("an uploaded certificate", () => {
  test("is listed with the others of its region", async () => {
    const { agent } = await world.world.addRegion("elsewhere");
    await reportSealingKey(agent);
    const here = (await create(["here.example"])).body.certificate;
    const there = (await create(["there.example"], { region: "elsewhere" })).body.certificate;
    const idsIn = async (region: string) =>
      (await world.owned.get(`/certificates?limit=200&region=${region}`)).body.items.map(
        (each: { id: string }) => each.id,
      );
    expect(await idsIn("elsewhere")).toEqual([there.id]);
    expect(await idsIn(world.region)).toContain(here.id);
    expect(await idsIn(world.region)).not.toContain(there.id);
    expect(await idsIn("nowhere")).toEqual([]);
  });

  test("is stored with what is in it, and read back without its key", async () => {
    const upload = await madeUpload(["shop.example", "*.shop.example"]);
    const created = await create([], { ...upload, labels: { team: "web" } });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const { certificate } = created.body;
    expect(created.headers.get("location")).toBe(`/api/v1/certificates/${certificate.id}`);
    const own = new X509Certificate(upload.certificate);
    expect(certificate).toMatchObject({
      id: expect.stringMatching(/^cert_/),
      region: world.region,
      type: "uploaded",
      status: "active",
      domain_names: ["shop.example", "*.shop.example"],
      san: ["shop.example", "*.shop.example"],
      version: 1,
      issuer: "Test R1",
      serial: own.serialNumber.toLowerCase(),
      key_type: "ecdsa-p256",
      not_after: own.validToDate.toISOString(),
      days_left: 59,
      fingerprint_sha256: own.fingerprint256.replaceAll(":", "").toLowerCase(),
      previous_fingerprint: null,
      warnings: [{ field: "chain", code: "chain_incomplete", message: expect.stringContaining("Test Root") }],
      used_by: [],
      labels: { team: "web" },
      created_by: { type: "token", name: "owner token" },
      generation: 1,
    });
    const read = await world.owned.get(`/certificates/${certificate.id}`);
    expect(read.body).toEqual(certificate);
    expect(read.headers.get("etag")).toBe('"g1"');
    expect((await world.owned.get("/certificates?q=shop.exam")).body.items).toEqual([certificate]);
  });

  test("has its key where the region's agent alone can open it, for this certificate and version", async () => {
    const upload = await madeUpload(["sealed.example"]);
    const { id } = (await create([], upload)).body.certificate;
    const { sealed_key } = await sealedKeyOf(id);
    const opened = openSecret(agentKey.privateKey, sealed_key, `${id}:1`);
    expect(createPrivateKey(opened).equals(createPrivateKey(upload.private_key))).toBe(true);
    expect(() => openSecret(agentKey.privateKey, sealed_key, `${id}:2`)).toThrow();
    const { db } = world.world.replica.deps;
    const material = await inTransaction(db, (tx) => materialOf(tx, world.organisation.id, [id]));
    expect(material).toMatchObject([
      { id, context: `${id}:1`, sealed_key, domain_names: ["sealed.example"] },
    ]);
    expect(material[0]?.chain_pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  test("leaves its key in no table and no answer: not where it is accepted, refused, repeated or replaced", async () => {
    const keys: string[] = [];
    const upload = async (name: string) => {
      const made = await madeUpload([name]);
      keys.push(middleOf(made.private_key));
      return made;
    };
    const body = { name: newName(), type: "uploaded", region: world.region, ...(await upload("a.example")) };
    const headers = { "Idempotency-Key": newName() };
    const answers = [await world.owned.post("/certificates", body, headers)];
    answers.push(await world.owned.post("/certificates", body, headers));
    expect(answers[1]?.headers.get("idempotency-replayed")).toBe("true");
    // Refused: its name is taken, its key is of another certificate, the key is where it does not belong.
    answers.push(await world.owned.post("/certificates", { ...body, ...(await upload("b.example")) }));
    const other = await upload("c.example");
    answers.push(await create([], { ...(await upload("d.example")), private_key: other.private_key }));
    answers.push(await create([], { certificate: other.private_key }));
    answers.push(await create([], { chain: other.private_key }));
    answers.push(await create([], { ...other, unknown: other.private_key }));
    const { id } = answers[0]?.body.certificate ?? {};
    const path = `/certificates/${id}/material`;
    const { name: _, type: __, region: ___, ...material } = body;
    answers.push(await world.owned.put(path, material, { "If-Match": '"g9"' }));
    answers.push(
      await world.owned.put(path, { ...(await upload("e.example")) }, { "Idempotency-Key": newName() }),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 409, 422, 422, 422, 422, 412, 200]);
    const tables = await world.rows(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const texts = await Promise.all(
      tables.map(({ name }) => world.rows(`select t::text as text from ${name} t`)),
    );
    const dump = texts.flat().map(({ text }) => text);
    expect(dump.length).toBeGreaterThan(100);
    expect(dump.some((text) => text.includes(id))).toBe(true);
    const told = JSON.stringify([dump, answers.map((answer) => answer.body)]);
    expect(keys.length).toBe(5);
    for (const key of keys) {
      expect(key.length).toBe(40);
      expect(told.includes(key)).toBe(false);
    }
  });

  test("that cannot be served is refused with what is wrong with each field", async () => {
    const good = await madeUpload(["good.example"]);
    const other = await madeUpload(["other.example"]);
    const errorsOf = async (more: object) => {
      const answer = await create([], { ...good, ...more });
      expect(answer.status).toBe(422);
      return answer.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
    };
    expect(await errorsOf({ private_key: other.private_key })).toEqual(["/private_key conflicts_with"]);
    expect(await errorsOf({ chain: other.chain })).toEqual(["/chain conflicts_with"]);
    expect(await errorsOf({ certificate: good.chain })).toEqual(["/certificate invalid_format"]);
    expect(
      await errorsOf({ certificate: "nothing", private_key: "nothing", name: "x".repeat(1_000) }),
    ).toEqual(["/name too_long", "/certificate invalid_format", "/private_key invalid_format"]);
    const expired = await madeUpload(["old.example"], { notAfter: new Date(Date.now() - 1_000) });
    expect(await errorsOf(expired)).toEqual(["/certificate out_of_range"]);
    const future = await madeUpload(["new.example"], { notBefore: new Date(Date.now() + 3_600_000) });
    expect(await errorsOf(future)).toEqual(["/certificate out_of_range"]);
    const odd = await madeUpload(["odd.example"], { keys: await makeKeys("P-521") });
    expect(await errorsOf(odd)).toEqual(["/certificate invalid_format", "/private_key invalid_format"]);
    const bare = { name: newName(), type: "uploaded", region: "nowhere" };
    expect((await world.owned.post("/certificates", bare)).body.errors).toMatchObject([
      { pointer: "/region", code: "not_found" },
      { pointer: "/certificate", code: "required" },
      { pointer: "/private_key", code: "required" },
    ]);
    expect(await errorsOf({ certificate: "x".repeat(200_000) })).toEqual(["/certificate too_long"]);
  });

  test("needs a region whose agent has a key", async () => {
    await world.world.addRegion("keyless");
    const refused = await create(["nowhere.example"], { region: "keyless" });
    expect([refused.status, refused.body.code]).toEqual([409, "region_unavailable"]);
    expect(refused.body.precondition).toMatchObject({ name: "region_agent_key_known", resource: "keyless" });
  });

  test("has a name that no other certificate of the organisation has", async () => {
    const [first, second] = [(await create(["a.example"])).body.certificate, await create(["b.example"])];
    const namesake = await create(["c.example"], { name: first.name });
    expect([namesake.status, namesake.body.code]).toEqual([409, "name_taken"]);
    expect(namesake.body.precondition.resource).toBe(first.id);
    const path = `/certificates/${second.body.certificate.id}`;
    expect((await world.owned.patch(path, { name: first.name })).body.code).toBe("name_taken");
    const renamed = await world.owned.patch(path, { name: newName(), labels: { a: "1" } });
    expect(renamed.body).toMatchObject({ labels: { a: "1" }, generation: 2 });
    const name = newName();
    const race = await Promise.all(Array.from({ length: 10 }, () => create(["r.example"], { name })));
    expect(race.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });

  test("takes room of the quota until it is deleted", async () => {
    const { id, owner } = await world.world.addOrganisation("small");
    const limits = { limits: { certificates: 1 } };
    await world.world.operator.put(`/organisations/${id}/quotas`, limits);
    const { certificate } = (await create(["q.example"], {}, owner)).body;
    const full = await create(["q.example"], {}, owner);
    expect(full.body).toMatchObject({ code: "quota_exceeded", precondition: { name: "quota_certificates" } });
    expect((await owner.delete(`/certificates/${certificate.id}`)).status).toBe(204);
    expect((await create(["q.example"], {}, owner)).status).toBe(201);
  });

  test("reads as expired and as without its key when it is", async () => {
    const { id } = (await create(["time.example"])).body.certificate;
    const shown = async () => (await world.owned.get(`/certificates/${id}`)).body;
    await world.owner.query(
      "update certificate_version set not_after = now() - interval '36 hours' where certificate_id = $1",
      [id],
    );
    expect(await shown()).toMatchObject({ status: "expired", days_left: -2 });
    await world.owner.query(
      "update certificate_version set sealed_to = 'another' where certificate_id = $1",
      [id],
    );
    expect(await shown()).toMatchObject({ status: "needs_material" });
    const replaced = await world.owned.put(
      `/certificates/${id}/material`,
      await madeUpload(["time.example"]),
    );
    expect(replaced.body).toMatchObject({ status: "active", days_left: 59 });
  });
});

describe("the material of an uploaded certificate", () => {
  test("is replaced in place by a new version, and the key before is gone", async () => {
    const { certificate } = (await create(["first.example"])).body;
    const before = await sealedKeyOf(certificate.id);
    const upload = await madeUpload(["second.example"]);
    const path = `/certificates/${certificate.id}/material`;
    const replaced = await world.owned.put(path, upload, { "If-Match": '"g1"' });
    expect(replaced.status, JSON.stringify(replaced.body)).toBe(200);
    expect(replaced.body).toMatchObject({
      id: certificate.id,
      name: certificate.name,
      domain_names: ["second.example"],
      version: 2,
      previous_fingerprint: certificate.fingerprint_sha256,
      generation: 2,
    });
    const stored = await world.rows("select * from certificate_version where certificate_id = $1", [
      certificate.id,
    ]);
    expect(stored).toHaveLength(1);
    expect(stored[0].sealed_key).not.toBe(before.sealed_key);
    const key = openSecret(agentKey.privateKey, stored[0].sealed_key, `${certificate.id}:2`);
    expect(createPrivateKey(key).equals(createPrivateKey(upload.private_key))).toBe(true);
    expect((await world.owned.put(path, upload, { "If-Match": '"g1"' })).status).toBe(412);
    expect((await world.owned.put(path, { ...upload, private_key: "none" })).status).toBe(422);
  });
});

describe("a certificate in use", () => {
  /** A product that uses certificates, with its state in this test. */
  const uses = new Map<string, CertificateUse[]>();
  const hook: CertificateHooks = {
    usedBy: async (_db, _organisation, ids) => new Map(ids.map((id) => [id, uses.get(id) ?? []])),
  };
  let owner: ApiCaller;
  beforeAll(() => {
    const app = new Hono();
    mountCertificates({ hono: app.basePath(apiRoot) as Hono, deps: world.world.replica.deps }, [hook]);
    owner = world.owned.at(app);
  });

  test("names where it is used, can be replaced, and is not deleted", async () => {
    const { id } = (await create(["used.example"])).body.certificate;
    const use = { load_balancer_id: "lb_one", listener_id: "lsn_one" };
    uses.set(id, [use, { ...use, listener_id: "lsn_two" }]);
    expect((await owner.get(`/certificates/${id}`)).body.used_by).toHaveLength(2);
    const listed = (await owner.get("/certificates?q=used.example")).body.items;
    expect(listed[0].used_by[0]).toEqual(use);
    const refused = await owner.delete(`/certificates/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
    expect(refused.body.precondition).toMatchObject({
      name: "certificate_unused",
      resource: "lb_one",
      fix: expect.stringContaining("lsn_one"),
    });
    expect((await owner.put(`/certificates/${id}/material`, await madeUpload(["used.example"]))).status).toBe(
      200,
    );
    uses.delete(id);
    expect((await owner.delete(`/certificates/${id}`)).status).toBe(204);
    expect((await owner.get(`/certificates/${id}`)).status).toBe(404);
    expect(await sealedKeyOf(id)).toBeUndefined();
  });
});

test("a certificate is not deleted while somebody begins to use it", async () => {
  const { id } = (await create(["begun.example"])).body.certificate;
  const { db } = world.world.replica.deps;
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const using = inTransaction(db, async (tx) => {
    const own = await lockCertificatesForUse(tx, world.organisation.id, [id, "cert_of_nobody"]);
    expect([...own]).toEqual([id]);
    begun.resolve();
    await mayEnd.promise;
  });
  await begun.promise;
  const deleting = world.owned.delete(`/certificates/${id}`);
  const waits =
    "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%\"certificate\"%'";
  await expect.poll(async () => (await world.rows(waits)).length, { timeout: 20_000 }).toBeGreaterThan(0);
  mayEnd.resolve();
  await using;
  expect((await deleting).status).toBe(204);
});

test("another organisation's certificate reads like one that does not exist", async () => {
  const { id } = (await create(["mine.example"])).body.certificate;
  const { owner, id: otherId } = await world.world.addOrganisation("stranger");
  expect((await owner.get(`/certificates/${id}`)).status).toBe(404);
  expect((await owner.delete(`/certificates/${id}`)).status).toBe(404);
  expect((await owner.put(`/certificates/${id}/material`, await madeUpload(["x.example"]))).status).toBe(404);
  expect((await owner.get("/certificates")).body.items).toEqual([]);
  const { db } = world.world.replica.deps;
  expect(await inTransaction(db, (tx) => materialOf(tx, otherId, [id]))).toEqual([]);
});

test("nothing in the database is against its invariants", async () => {
  expect(await world.violations()).toEqual([]);
});
