import { X509Certificate } from "node:crypto";
import { probePebble } from "@kule/certificates/testing/pebble";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AnsweringWorld } from "../../testing/answering-world.ts";
import { must } from "../../testing/gateway-world.ts";
import { probeBalancer } from "../../testing/running-balancer.ts";

const parts = [
  await requirePart("pebble", probePebble, import.meta.filename),
  await requirePart("haproxy", probeBalancer, import.meta.filename),
];

describe.skipIf(parts.some(({ missing }) => missing))(
  "a certificate that is proven over HTTP",
  { timeout: 240_000 },
  () => {
    let world: AnsweringWorld;
    let subnet: string;
    let front: Awaited<ReturnType<AnsweringWorld["balancer"]>>;
    beforeAll(async () => {
      world = await AnsweringWorld.open();
      subnet = await world.subnetOf(world.own);
      front = await world.balancer(world.own, subnet);
    });
    afterAll(() => world?.close());

    const drive = (id: string) =>
      expect.poll(() => world.step(id), { timeout: 120_000, interval: 50 }).toBe("none");
    const thumbprint = async (): Promise<unknown> =>
      (await world.issuing.served.rows("select thumbprint from acme_account order by in_use_since desc"))[0]
        ?.thumbprint;

    test("waits until the load balancer has what it answers with, and is issued through it", async () => {
      // Created before the installation had an account.
      expect(front.payload?.acme_thumbprint).toBeNull();
      const name = await world.name([front.address]);
      const id = await world.ready([name]);
      expect(await world.step(id)).toBe("ready");
      expect(await world.isOrdered(id)).toBe(false);
      expect(await world.lastError(id)).toBeNull();
      expect(await world.challenges(id)).toMatchObject([
        {
          ready: false,
          problem_code: "answer_not_in_force",
          http: { url: null, leads_to: [{ address: front.address, load_balancer_id: front.id }] },
        },
      ]);

      expect(await world.keep()).toMatchObject({ answering: 1 });
      // Wanted, and not at the machine yet.
      expect(await world.step(id)).toBe("ready");
      const payload = (await world.settle()).at(-1);
      expect(payload?.acme_thumbprint).toBe(await thumbprint());
      expect(await world.keep()).toMatchObject({ answering: 0 });
      if (payload === undefined) throw new Error("no job brings the thumbprint");
      await world.running.apply(payload);

      expect(await world.step(id)).toBe("ordered");
      const [challenge] = await world.challenges(id);
      expect(challenge).toMatchObject({ ready: true, problem: null, problem_code: null });
      const { pathname } = new URL(challenge?.http?.url ?? "");
      const answer = await fetch(`http://127.0.0.1:${world.issuing.pebble.httpPort}${pathname}`);
      expect(await answer.text()).toBe(challenge?.http?.content);
      await drive(id);
      const [{ chain_pem } = { chain_pem: "" }] = await world.issuing.served.rows(
        "select chain_pem from certificate_version where certificate_id = $1",
        [id],
      );
      expect(new X509Certificate(String(chain_pem)).checkHost(name)).toBe(name);
      expect((await must(world.own.owner.get(`/certificates/${id}`))).status).toBe("active");
    });

    test("is answered by a load balancer that is created later with its first configuration", async () => {
      const { payload } = await world.balancer(world.own, subnet);
      expect(payload?.acme_thumbprint).toBe(await thumbprint());
      const silent = await world.balancer(world.own, subnet, {
        listeners: [{ protocol: "http", port: 8080 }],
      });
      expect(silent.payload?.acme_thumbprint).toBeNull();
      expect(await world.keep()).toMatchObject({ answering: 0 });
    });

    test("is issued for a name that leads to the address of a pair", async () => {
      const pair = await world.balancer(world.own, subnet, { ha: true });
      expect(pair.payload?.acme_thumbprint).toBe(await thumbprint());
      const id = await world.ready([await world.name([pair.address])]);
      expect((await world.challenges(id))[0]).toMatchObject({ ready: true, problem: null });
      await drive(id);
      expect((await must(world.own.owner.get(`/certificates/${id}`))).status).toBe("active");
      await must(world.own.owner.delete(`/load-balancers/${pair.id}`));
      await world.settle();
    });

    test("is asked of no CA for a name that leads elsewhere, or has an IPv6 address", async () => {
      const silent = await world.balancer(world.own, subnet, {
        listeners: [{ protocol: "tcp", port: 80 }],
      });
      for (const [code, ipv4, ipv6] of [
        ["name_leads_elsewhere", ["198.51.100.7"], []],
        ["name_leads_elsewhere", [front.address, "198.51.100.7"], []],
        ["name_leads_elsewhere", [silent.address], []],
        ["name_has_ipv6_address", [front.address], ["2001:db8::7"]],
        ["name_without_address", [], []],
      ] as const) {
        const name = await world.name(ipv4, ipv6);
        const right = await world.name([front.address]);
        const id = await world.ready([right, name]);
        expect(await world.step(id)).toBe("ready");
        expect(await world.isOrdered(id), code).toBe(false);
        expect(await world.lastError(id)).toMatchObject({
          code: "names_not_ready",
          domain_name: name,
          message: expect.stringContaining(name),
        });
        const challenges = await world.challenges(id);
        expect(challenges.map(({ problem_code }) => problem_code)).toEqual([null, code]);
      }
    });

    test("is not issued for a name that leads to another organisation's load balancer", async () => {
      const { id: strangerId, owner } = await world.issuing.served.addOrganisation("stranger");
      const { issuing } = world;
      const stranger = { id: strangerId, owner: owner.at(issuing.app) };
      const name = await world.name([front.address]);
      const first = await world.ready([name], stranger);
      expect(await world.step(first, stranger)).toBe("ready");
      expect((await world.challenges(first, stranger))[0]).toMatchObject({
        problem_code: "no_load_balancer",
        http: { leads_to: [] },
      });
      await world.balancer(stranger, await world.subnetOf(stranger));
      const id = await world.ready([name], stranger);
      expect(await world.step(id, stranger)).toBe("ready");
      expect(await world.isOrdered(id)).toBe(false);
      expect((await world.challenges(id, stranger))[0]).toMatchObject({
        problem_code: "name_leads_elsewhere",
        http: { leads_to: [{ address: front.address, load_balancer_id: null }] },
      });
    });

    test("is given up when a name leads elsewhere before the CA is told to look", async () => {
      const name = await world.name([front.address]);
      const id = await world.ready([name]);
      expect(await world.step(id)).toBe("ordered");
      await world.lead(name, ["198.51.100.7"]);
      expect(await world.step(id)).toBe("ready");
      expect(await world.isOrdered(id)).toBe(false);
      expect((await world.lastError(id))?.code).toBe("names_not_ready");
      await world.lead(name, [front.address]);
      await drive(id);
    });

    test("is looked up once for all who ask within ten seconds, and by the order itself each time", async () => {
      const name = await world.name([front.address]);
      const id = await world.ready([name]);
      const began = performance.now();
      const all = await Promise.all([world.challenges(id), world.challenges(id), world.challenges(id)]);
      await world.lead(name, ["198.51.100.7"]);
      const again = await world.challenges(id);
      // A machine that needs longer than that for four calls has looked again.
      if (performance.now() - began < 10_000)
        for (const each of [...all, again]) expect(each).toMatchObject([{ ready: true, problem: null }]);
      expect(await world.step(id)).toBe("ready");
      expect((await world.lastError(id))?.code).toBe("names_not_ready");
    });

    test("needs the public address at the load balancer's machine, and the listener", async () => {
      const other = await world.balancer(world.own, subnet);
      const name = await world.name([other.address]);
      const id = await world.ready([name]);
      const codes = async () => (await world.challenges(id)).map(({ problem_code }) => problem_code);
      expect(await codes()).toEqual([null]);
      const path = `/load-balancers/${other.id}/listeners`;
      const [listener] = (await must(world.own.owner.get(path))).items;
      await must(world.own.owner.patch(`${path}/${listener.id}`, { protocol: "tcp" }));
      expect(await codes()).toEqual(["name_leads_elsewhere"]);
      await must(world.own.owner.patch(`${path}/${listener.id}`, { protocol: "http" }));
      // The machine still has the listener that answers nothing.
      expect(await codes()).toEqual(["answer_not_in_force"]);
      await world.settle();
      expect(await codes()).toEqual([null]);

      await world.loseMachine(other);
      expect(await world.keep()).toMatchObject({ replaced: 1 });
      await world.settle();
      // The address is at no machine until the next one is made, and anybody's server of the organisation could get it.
      expect(await codes()).toEqual(["name_leads_elsewhere"]);
      expect(await world.keep()).toMatchObject({ made: 1 });
      expect(await codes()).toEqual(["answer_not_in_force"]);
      await world.settle();
      expect(await codes()).toEqual([null]);
      await must(world.own.owner.delete(`/load-balancers/${other.id}`));
      expect(await codes()).toEqual(["name_leads_elsewhere"]);
      await world.settle();
    });

    test("follows the account of another CA, and back", async () => {
      await world.issuing.served.rows(
        "insert into acme_account (directory_url, encrypted_key, thumbprint) values ('https://other.example/dir', 'x', 'of-the-other')",
      );
      // A few at a time.
      expect(await world.keep({ mostAnswering: 1 })).toMatchObject({ answering: 1 });
      const { answering: others } = await world.keep();
      expect(others).toBeGreaterThan(0);
      const thumbprints = new Set((await world.settle()).map(({ acme_thumbprint }) => acme_thumbprint));
      expect([...thumbprints]).toEqual(["of-the-other"]);
      const id = await world.ready([await world.name([front.address])]);
      expect(await world.step(id)).toBe("ready");
      expect((await world.challenges(id))[0]?.problem_code).toBe("answer_not_in_force");
      expect(await world.keep()).toMatchObject({ answering: others + 1 });
      await world.settle();
      await drive(id);
    });

    test("cannot be for a wildcard", async () => {
      const { status, body } = await world.own.owner.post("/certificates", {
        name: "wild",
        type: "managed",
        region: "r1",
        challenge: "http",
        domain_names: ["*.shop.test"],
      });
      expect([status, body.errors?.[0]?.pointer]).toEqual([422, "/domain_names/0"]);
    });

    test("nothing in the database is against its invariants", async () => {
      const { findViolations } = await import("@kule/invariants/find-violations");
      const { default: pg } = await import("pg");
      const client = new pg.Client({ connectionString: world.issuing.served.world.database.ownerUrl });
      await client.connect();
      try {
        expect(await findViolations(client)).toEqual([]);
      } finally {
        await client.end();
      }
    });
  },
);
