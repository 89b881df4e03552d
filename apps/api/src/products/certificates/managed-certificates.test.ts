import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { makeCertificateRequest } from "@kule/certificates/certificate-request";
import { probePebble } from "@kule/certificates/testing/pebble";
import type { Schemas } from "@kule/contract/schemas";
import { makeSealingKeyPair, openSecret } from "@kule/sealed-secret/sealed-secret";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BadSettings } from "../../platform/settings.ts";
import { IssuingWorld } from "../../testing/issuing-world.ts";
import { madeUpload } from "../../testing/made-upload.ts";
import { openCertificateAuthority } from "../../worker/certificate-authority.ts";

const pebblePart = await requirePart("pebble", probePebble, import.meta.filename);

describe.skipIf(pebblePart.missing)("a managed certificate", { timeout: 240_000 }, () => {
  let world: IssuingWorld;
  let domain: Schemas["Domain"];
  beforeAll(async () => {
    world = await IssuingWorld.open();
    domain = await world.served.addServedDomain(world.owner);
  });
  afterAll(() => world?.close());

  let names = 0;
  const newName = () => `n${names++}.${domain.name}`;
  const begin = async (domainNames: readonly string[]): Promise<string> => {
    const answer = await world.create(domainNames);
    expect(answer.status, JSON.stringify(answer.body)).toBe(202);
    return answer.body.certificate.id;
  };
  /** Until the order is at its end. */
  const drive = (id: string, ca = world.ca) =>
    expect.poll(() => world.step(id, ca), { timeout: 120_000, interval: 20 }).toBe("none");
  const issue = async (domainNames: readonly string[]): Promise<string> => {
    const id = await begin(domainNames);
    await world.makeKey();
    await drive(id);
    return id;
  };
  const materialOf = async (id: string) =>
    (await world.served.rows("select * from certificate_version where certificate_id = $1", [id]))[0] ?? {};
  /** What the domain serves beside its records, once its jobs are done. */
  const servedValues = async () => {
    const zone = await world.served.provider.readZone(domain.name);
    return zone?.recordSets.filter(({ type }) => type === "TXT").flatMap(({ contents }) => contents);
  };
  const failNow = { code: "ca_unavailable" };

  test("for an apex, its wildcard and a name is proven through the domain and issued with a key that the region made", async () => {
    const wanted = [domain.name, `*.${domain.name}`, `www.${domain.name}`];
    const { body } = await world.create(wanted);
    expect(body.job).toMatchObject({ kind: "CertificateRequest", resource: { type: "certificate" } });
    const { id } = body.certificate;
    expect(body.certificate).toMatchObject({
      status: "pending",
      version: null,
      challenge: "dns",
      job_id: body.job.id,
      renewal: { renew_at: null, failed_attempts: 0, last_error: null },
    });
    await world.makeKey();
    expect((await world.certificate(id)).status).toBe("issuing");
    // The CA is asked, and the values are on their way to the name servers.
    expect(await world.step(id)).toBe("ordered");
    const { items } = (await world.owner.get(`/certificates/${id}/challenges`)).body;
    expect(items.map((item: Schemas["CertificateChallenge"]) => item.record?.name)).toEqual([
      `_acme-challenge.${domain.name}`,
      `_acme-challenge.${domain.name}`,
      `_acme-challenge.www.${domain.name}`,
    ]);
    const values = items.map((item: Schemas["CertificateChallenge"]) => `"${item.record?.value}"`);
    expect(new Set(values).size).toBe(3);
    expect(items[0]).toMatchObject({
      domain_id: domain.id,
      ready: true,
      problem: null,
      ca_status: "pending",
    });
    await drive(id);

    const issued = await world.certificate(id);
    expect(issued).toMatchObject({
      status: "active",
      version: 1,
      domain_names: wanted,
      key_type: "ecdsa-p256",
    });
    expect(issued.san.toSorted()).toEqual(wanted.toSorted());
    expect(Date.parse(issued.renewal?.renew_at ?? "")).toBeLessThan(Date.parse(issued.not_after ?? ""));
    const { chain_pem, sealed_key } = await materialOf(id);
    const key = openSecret(world.agentKey.privateKey, String(sealed_key), `${id}:1`);
    const { publicKey } = new X509Certificate(String(chain_pem));
    expect(createPublicKey(createPrivateKey(key)).equals(publicKey)).toBe(true);
    // Nothing of it stays in the domain, or in the job.
    await expect.poll(servedValues, { timeout: 60_000 }).toEqual([]);
    expect(await world.served.rows("select from job where result::text like '%sealed_key%'")).toEqual([]);
    const trail = (await world.owner.get(`/audit?action=certificate.issue&resource=${id}`)).body.items;
    expect(trail).toMatchObject([{ actor: { type: "system" }, details: { version: 1 } }]);
  });

  test("is issued once although the worker is killed at every boundary of every step", async () => {
    const id = await begin([newName()]);
    await world.makeKey();
    const killedAt = new Set<string>();
    class Killed extends Error {}
    for (let steps = 0; (await world.stateOf(id)) !== "none"; steps += 1) {
      expect(steps).toBeLessThan(2_000);
      const state = await world.stateOf(id);
      let passed = 0;
      const crash = (point: string) => {
        passed += 1;
        const place = `${state} ${point} ${passed}`;
        // A state that only waits is come to again and again: each boundary of it kills once.
        if (killedAt.has(place)) return;
        killedAt.add(place);
        throw new Killed(place);
      };
      await world.step(id, world.ca, crash).catch((error: unknown) => {
        // In the middle of a transaction the hook's error arrives as one of the database's.
        const cause = error instanceof Error ? error.cause : undefined;
        if (!(error instanceof Killed) && !(cause instanceof Killed)) throw error;
      });
    }
    expect([...killedAt].map((place) => place.split(" ")[0])).toEqual(
      expect.arrayContaining(["ready", "ordered", "answered", "finalized"]),
    );
    const issued = await world.certificate(id);
    expect(issued).toMatchObject({ status: "active", version: 1, renewal: { failed_attempts: 0 } });
    await expect.poll(servedValues, { timeout: 60_000 }).toEqual([]);
  });

  test("is proven beside a record set of the domain's own at the same name, which stays", async () => {
    const name = newName();
    const path = `/domains/${domain.id}/records/_acme-challenge.${name.split(".")[0]}/TXT`;
    expect((await world.owner.put(path, { values: ["own"] })).status).toBeLessThan(300);
    const id = await begin([name]);
    await world.makeKey();
    expect(await world.step(id)).toBe("ordered");
    await expect.poll(async () => (await servedValues())?.length, { timeout: 60_000 }).toBe(2);
    // Lists have the domain's own alone.
    expect((await world.owner.get(path)).body.values).toEqual(['"own"']);
    await drive(id);
    await expect.poll(servedValues, { timeout: 60_000 }).toEqual(['"own"']);
    await world.owner.delete(path);
    await expect.poll(servedValues, { timeout: 60_000 }).toEqual([]);
  });

  test("is not changed by a worker that was stopped in a step and has lost it", async () => {
    const id = await begin([newName()]);
    await world.makeKey();
    const reached = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = {
      ...world.ca,
      client: {
        ...world.ca.client,
        directory: async (signal?: AbortSignal) => {
          reached.resolve();
          await goOn.promise;
          return world.ca.client.directory(signal);
        },
      },
    };
    const stopped = world.step(id, slow);
    await reached.promise;
    expect(await world.step(id)).toBe("ordered");
    const order = await orderUrlOf(id);
    const row = () => world.served.rows("select * from certificate_order where certificate_id = $1", [id]);
    const before = await row();
    goOn.resolve();
    await stopped;
    expect(await row()).toEqual(before);
    expect(await orderUrlOf(id)).toBe(order);
    await drive(id);
  });

  test("waits for a CA that is away, longer each time, and goes on where it was", async () => {
    const id = await begin([newName()]);
    await world.makeKey();
    const away = { ...world.ca, client: openAway() };
    expect(await world.step(id, away)).toBe("ready");
    const once = await world.certificate(id);
    expect(once).toMatchObject({
      status: "failed",
      renewal: { failed_attempts: 1, last_error: { ...failNow, domain_name: null } },
    });
    const waitOf = ({ renewal }: Schemas["Certificate"]) =>
      Date.parse(renewal?.next_attempt_at ?? "") - Date.parse(renewal?.last_error?.at ?? "");
    expect(waitOf(once)).toBe(60_000);
    await world.step(id, away);
    expect(waitOf(await world.certificate(id))).toBe(120_000);
    expect(await world.step(id)).toBe("ordered");
    // In the middle of the order it is kept.
    const order = await orderUrlOf(id);
    await expect.poll(() => world.step(id), { timeout: 60_000, interval: 20 }).toBe("answered");
    expect(await world.step(id, away)).toBe("answered");
    expect(await orderUrlOf(id)).toBe(order);
    await drive(id);
    expect(await world.certificate(id)).toMatchObject({
      status: "active",
      renewal: { failed_attempts: 0, next_attempt_at: null, last_error: null },
    });
    away.client.close();
  });

  const openAway = () =>
    openCertificateAuthority(
      {
        path: world.acmePath,
        file: { directoryUrl: "https://127.0.0.1:1/dir", contactEmails: [], network: "any", rootsPem: null },
      },
      { KULE_MASTER_KEY: world.masterKey },
    ).client;
  const orderUrlOf = async (id: string) =>
    (await world.served.rows("select order_url from certificate_order where certificate_id = $1", [id]))[0]
      ?.order_url;

  test("is ordered anew by a CA that has forgotten everything", async () => {
    const id = await begin([newName()]);
    await world.makeKey();
    expect(await world.step(id)).toBe("ordered");
    await world.pebble.restart();
    await expect.poll(() => world.step(id), { timeout: 60_000, interval: 20 }).toBe("ready");
    expect((await world.certificate(id)).renewal?.last_error).toMatchObject({ code: "order_lost" });
    await drive(id);
    expect((await world.certificate(id)).status).toBe("active");
  });

  test("whose names cannot be proven is not ordered, and says what to do", async () => {
    const other = await world.served.addDomain(world.owner);
    const id = await begin([`www.${other.name}`]);
    await world.makeKey();
    expect(await world.step(id)).toBe("ready");
    const problem = `${other.name} is not proven. Prove it: POST /domains/${other.id}/verify`;
    expect((await world.certificate(id)).renewal?.last_error).toMatchObject({
      code: "names_not_ready",
      message: problem,
      domain_name: `www.${other.name}`,
    });
    const { items } = (await world.owner.get(`/certificates/${id}/challenges`)).body;
    expect(items).toMatchObject([{ ready: false, problem, domain_id: other.id, ca_status: null }]);
    expect(await orderUrlOf(id)).toBeNull();

    const elsewhere = await begin([newName()]);
    await world.makeKey();
    const delegation = (state: string) =>
      world.served.rows("update domain set delegation_state = $2 where id = $1", [domain.id, state]);
    await delegation("elsewhere");
    expect(await world.step(elsewhere)).toBe("ready");
    expect((await world.certificate(elsewhere)).renewal?.last_error?.message).toContain("name servers");
    await delegation("right");
    // Renewing ends the wait.
    const renewed = await world.owner.post(`/certificates/${elsewhere}/renew`);
    expect([renewed.status, renewed.body.job]).toEqual([200, null]);
    await drive(elsewhere);
  });

  test("is refused for names that are not the organisation's, and for fields of the other type", async () => {
    const errorsOf = async (domainNames: readonly string[], more: object = {}) => {
      const answer = await world.create(domainNames, more);
      expect(answer.status).toBe(422);
      return answer.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
    };
    expect(await errorsOf(["www.stranger.example", newName()])).toEqual(["/domain_names/0 not_found"]);
    expect(await errorsOf([newName(), "*.co.uk", "a_b.example"])).toEqual([
      "/domain_names/1 invalid_format",
      "/domain_names/2 invalid_format",
    ]);
    expect(await errorsOf([`*.${domain.name}`], { challenge: "http" })).toEqual([
      "/domain_names/0 conflicts_with",
    ]);
    const upload = await madeUpload(["x.example"]);
    expect(await errorsOf([newName()], upload)).toEqual([
      "/certificate conflicts_with",
      "/chain conflicts_with",
      "/private_key conflicts_with",
    ]);
    expect(await errorsOf([], { type: "uploaded", ...upload, domain_names: [newName()] })).toEqual([
      "/domain_names conflicts_with",
    ]);
  });

  test("is not replaced by its owner, and an uploaded one is not renewed", async () => {
    const id = await issue([newName()]);
    const upload = await madeUpload(["x.example"]);
    const put = await world.owner.put(`/certificates/${id}/material`, upload);
    expect([put.status, put.body.precondition?.name]).toEqual([409, "certificate_uploaded"]);
    const body = { name: "uploaded", type: "uploaded", region: "r1", ...upload };
    const uploaded = (await world.owner.post("/certificates", body)).body.certificate;
    const renewed = await world.owner.post(`/certificates/${uploaded.id}/renew`);
    expect([renewed.status, renewed.body.precondition?.name]).toEqual([409, "certificate_managed"]);
    expect((await world.owner.get(`/certificates/${uploaded.id}/challenges`)).body.items).toEqual([]);
  });

  test("over HTTP needs a load balancer of its region", async () => {
    const { id } = (await world.create(["www.anywhere.example"], { challenge: "http" })).body.certificate;
    await world.makeKey();
    expect(await world.step(id)).toBe("ready");
    expect((await world.certificate(id)).renewal?.last_error).toMatchObject({
      code: "names_not_ready",
      message: expect.stringContaining("load balancer"),
    });
  });

  test("is renewed by the clock with a new key, and used meanwhile", async () => {
    const name = newName();
    const id = await issue([name]);
    const before = await world.certificate(id);
    await world.served.rows("update certificate set renew_at = now() where id = $1", [id]);
    expect(await world.lookAfter()).toMatchObject({ renewed: 1 });
    expect(await world.lookAfter()).toMatchObject({ renewed: 0 });
    await world.makeKey();
    expect(await world.step(id)).toBe("ordered");
    expect(await world.certificate(id)).toMatchObject({ status: "renewing", version: 1 });
    await drive(id);
    const after = await world.certificate(id);
    expect(after).toMatchObject({
      status: "active",
      version: 2,
      previous_fingerprint: before.fingerprint_sha256,
    });
    expect(after.serial).not.toBe(before.serial);
  });

  test("is planned by the CA's own wish, also when another one's dates cannot be read", async () => {
    const [broken, other] = [await issue([newName()]), await issue([newName()])];
    await world.served.rows(
      "update certificate_version set not_after = 'infinity' where certificate_id = $1",
      [broken],
    );
    // The broken one has its turn before the other one.
    for (const [id, askedAt] of [
      [broken, "-infinity"],
      [other, "2020-01-01"],
    ])
      await world.served.rows("update certificate set window_asked_at = $2 where id = $1", [id, askedAt]);
    await world.lookAfter();
    const again = await world.served.rows(
      "select id from certificate where id = any($1) and window_asked_at > now()",
      [[broken, other]],
    );
    expect(again).toHaveLength(2);
    await world.owner.delete(`/certificates/${broken}`);
  });

  test("is not taken from a region that asks for other names", async () => {
    const id = await begin([newName()]);
    const { csrDer } = makeCertificateRequest([`elsewhere.${domain.name}`]);
    await world.makeKey((made) => ({ ...made, csr: csrDer.toString("base64") }));
    expect(await world.stateOf(id)).toBe("requesting");
    expect((await world.certificate(id)).renewal?.last_error?.code).toBe("region_failed");
    // The next attempt asks the region again.
    await world.step(id);
    await world.makeKey();
    await drive(id);
    expect((await world.certificate(id)).status).toBe("active");
  });

  test("that is deleted leaves nothing with the region, in the domain or with the worker", async () => {
    const waiting = await begin([newName()]);
    expect((await world.owner.delete(`/certificates/${waiting}`)).status).toBe(204);
    expect(await world.agent.claim()).toBeNull();
    const ordered = await begin([newName()]);
    await world.makeKey();
    expect(await world.step(ordered)).toBe("ordered");
    await expect.poll(async () => (await servedValues())?.length, { timeout: 60_000 }).toBe(1);
    expect((await world.owner.delete(`/certificates/${ordered}`)).status).toBe(204);
    expect(await world.step(ordered)).toBe("none");
    await expect.poll(servedValues, { timeout: 60_000 }).toEqual([]);
  });

  test("is told of before its end, each number of days once", async () => {
    const id = await issue([newName()]);
    const told = async () =>
      (await world.owner.get(`/audit?action=certificate.expires_soon&resource=${id}`)).body.items.map(
        (row: { details: { days_left: number } }) => row.details.days_left,
      );
    const ends = (days: string) =>
      world.served.rows(
        "update certificate_version set not_after = now() + $2::interval where certificate_id = $1",
        [id, days],
      );
    await world.lookAfter();
    expect(await told()).toEqual([]);
    await ends("13 days 12 hours");
    await world.lookAfter();
    await world.lookAfter();
    expect(await told()).toEqual([13]);
    await ends("12 hours");
    await world.lookAfter();
    expect(await told()).toEqual([0, 13]);
  });

  test("has its account's key in the database under the master key alone", async () => {
    const [account] = await world.served.rows("select * from acme_account");
    expect(account?.encrypted_key).toMatch(/^v1\./);
    expect(JSON.stringify(account)).not.toContain(world.masterKey);
    expect(() =>
      openCertificateAuthority(
        {
          path: world.acmePath,
          file: { directoryUrl: "x", contactEmails: [], network: "any", rootsPem: null },
        },
        {},
      ),
    ).toThrow(BadSettings);
    const strange = openCertificateAuthority(
      {
        path: world.acmePath,
        file: {
          directoryUrl: world.ca.directoryUrl,
          contactEmails: [],
          network: "any",
          rootsPem: world.pebble.identity.certificatePem,
        },
      },
      { KULE_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") },
    );
    const id = await begin([newName()]);
    await world.makeKey();
    await world.step(id, strange);
    strange.client.close();
    expect((await world.certificate(id)).renewal?.last_error?.code).toBe("setup_incomplete");
    await drive(id);
  });

  test("nothing in the database is against its invariants", async () => {
    const { findViolations } = await import("@kule/invariants/find-violations");
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: world.served.world.database.ownerUrl });
    await client.connect();
    try {
      const found = await findViolations(client);
      expect(found.filter(({ subject }) => !subject.startsWith("job_"))).toEqual([]);
    } finally {
      await client.end();
    }
  });
});

describe.skipIf(pebblePart.missing)(
  "a managed certificate of a CA that refuses nonces",
  { timeout: 240_000 },
  () => {
    let world: IssuingWorld;
    let id: string;
    beforeAll(async () => {
      world = await IssuingWorld.open(60);
    });
    afterAll(() => world?.close());

    test("is issued all the same", async () => {
      const domain = await world.served.addServedDomain(world.owner);
      id = (await world.create([domain.name])).body.certificate.id;
      await world.makeKey();
      await expect.poll(() => world.step(id), { timeout: 200_000, interval: 20 }).toBe("none");
      expect((await world.certificate(id)).status).toBe("active");
    });

    test("is issued anew for another key of its region, and asked of an agent that has it alone", async () => {
      const { agent } = world;
      const other = makeSealingKeyPair();
      await world.served.rows(
        "update region set agent_public_key = $1, agent_key_since = now() where slug = 'r1'",
        [other.publicKey],
      );
      expect((await world.certificate(id)).status).toBe("pending");
      expect(await world.lookAfter()).toMatchObject({ renewed: 1 });
      expect(await agent.claim({ public_key: world.agentKey.publicKey })).toBeNull();
      const { job_id } = await world.certificate(id);
      const waiting = (await world.owner.get(`/jobs/${job_id}`)).body;
      expect(waiting).toMatchObject({ status: "queued", error: { code: "agent_key_pending" } });
      await world.served.rows("update job set run_at = now() where id = $1", [job_id]);

      // A region that fails is asked again.
      const job = await agent.take("CertificateRequest");
      expect(job.payload.public_key).toBe(other.publicKey);
      const error = { code: "internal", message: "x" };
      await agent.report(job, { outcome: { status: "failed", error } });
      expect((await world.certificate(id)).renewal).toMatchObject({
        failed_attempts: 1,
        last_error: { code: "region_failed" },
      });
      await world.step(id);
      await world.makeKey();
      await expect.poll(() => world.step(id), { timeout: 200_000, interval: 20 }).toBe("none");
      expect(await world.certificate(id)).toMatchObject({
        status: "active",
        renewal: { failed_attempts: 0 },
      });
      const [material] = await world.served.rows(
        "select * from certificate_version where certificate_id = $1",
        [id],
      );
      expect(material?.sealed_to).toBe(other.publicKey);
      expect(
        openSecret(other.privateKey, String(material?.sealed_key), `${id}:${material?.version}`),
      ).toContain("PRIVATE KEY");
    });
  },
);
