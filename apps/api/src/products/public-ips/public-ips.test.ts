import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";

let world: ApiWorld;
let owner: pg.Pool;
let organisations = 0;

beforeAll(async () => {
  world = await ApiWorld.open({ addressQuarantineSeconds: 600 });
  await world.addRegion("ist1");
  owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
});
afterAll(async () => {
  await owner.end();
  await world.close();
});

/** An organisation with this many allocated addresses, from a pool of its own. */
async function organisationWith(count: number): Promise<TestOrganisation & { net: string; pool: string }> {
  organisations += 1;
  const organisation = await world.addOrganisation(`org${organisations}`);
  const net = `100.80.${organisations}`;
  const pool = await world.operator.post("/ip-pools", {
    region: "ist1",
    name: `pool ${organisations}`,
    gateway: `${net}.1`,
    prefix_length: 24,
  });
  await world.operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr: `${net}.0/24` });
  if (count > 0)
    await world.operator.post(`/ip-pools/${pool.body.id}/allocations`, {
      organisation_id: organisation.id,
      count,
    });
  return { ...organisation, net, pool: pool.body.id };
}

describe("A public IP", () => {
  it("is reserved from what the operator has allocated, the lowest first", async () => {
    const acme = await organisationWith(2);
    const taken = await acme.owner.post("/public-ips", { region: "ist1", labels: { role: "web" } });
    expect(taken.status).toBe(201);
    expect(taken.body).toMatchObject({
      address: `${acme.net}.2`,
      version: 4,
      prefix_length: 24,
      gateway: `${acme.net}.1`,
      status: "free",
      attached_to: null,
      requires_reboot: false,
      labels: { role: "web" },
      actions: {
        attach: { allowed: true },
        detach: { allowed: false, code: "not_attached" },
        delete: { allowed: true },
      },
    });
    expect((await acme.owner.get("/public-ips")).body.items).toEqual([taken.body]);
    expect((await acme.owner.get("/public-ips?label_selector=role%3Ddb")).body.items).toEqual([]);
  });

  it("is found by a part of it or of its PTR name, in the organisation that has it", async () => {
    const acme = await organisationWith(12);
    const other = await organisationWith(2);
    const ptrs = ["mail.example.org", null, "MAIL2.example.org"];
    for (const ptr of ptrs) await acme.owner.post("/public-ips", { region: "ist1", ...(ptr && { ptr }) });
    await other.owner.post("/public-ips", { region: "ist1", ptr: "mail.example.net" });
    const found = async (q: string) =>
      (await acme.owner.get(`/public-ips?sort=address&q=${encodeURIComponent(q)}`)).body.items.map(
        ({ address }: { address: string }) => address.slice(acme.net.length),
      );
    expect(await found(acme.net)).toEqual([".2", ".3", ".4"]);
    expect(await found(`${acme.net}.3`)).toEqual([".3"]);
    expect(await found("Mail")).toEqual([".2", ".4"]);
    expect(await found("mail2")).toEqual([".4"]);
    expect(await found("example.o")).toEqual([".2", ".4"]);
    for (const nothing of ["%", "_", `${other.net}.`, "example.net"])
      expect(await found(nothing)).toEqual([]);
  });

  it("must be requested from the operator when none is left, and the answer says so", async () => {
    const acme = await organisationWith(1);
    expect((await acme.owner.post("/public-ips", { region: "ist1" })).status).toBe(201);
    const refused = await acme.owner.post("/public-ips", { region: "ist1" });
    expect(refused).toMatchObject({ status: 409, body: { code: "no_public_ip_available" } });
    expect(refused.body.detail).toMatch(/ask the operator/);
    expect(await acme.owner.post("/public-ips", { region: "ist1", version: 6 })).toMatchObject({
      status: 409,
      body: { code: "no_public_ip_available" },
    });
  });

  it("of another organisation's allocation reads like one that is not allocated", async () => {
    const acme = await organisationWith(3);
    const other = await organisationWith(3);
    const answers = [];
    for (const address of [`${other.net}.2`, `${acme.net}.200`, "198.51.100.7"]) {
      const { status, body } = await acme.owner.post("/public-ips", { region: "ist1", address });
      answers.push(
        JSON.stringify([status, body.code, body.detail, body.precondition]).replaceAll(address, "X"),
      );
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("no_public_ip_available");
  });

  it("is quarantined after its release, and the one released last is reserved last", async () => {
    const acme = await organisationWith(2);
    const take = async () => (await acme.owner.post("/public-ips", { region: "ist1" })).body;
    const first = await take();
    expect((await acme.owner.delete(`/public-ips/${first.id}`)).status).toBe(204);
    expect((await acme.owner.get(`/public-ips/${first.id}`)).status).toBe(404);
    expect((await take()).address).toBe(`${acme.net}.3`);
    expect((await take()).code).toBe("no_public_ip_available");
    expect((await acme.owner.post("/public-ips", { region: "ist1", address: first.address })).body.code).toBe(
      "no_public_ip_available",
    );
    await owner.query("update public_address set free_after = now() where address = $1", [first.address]);
    expect((await take()).address).toBe(first.address);
  });

  it("cannot be released while it is protected", async () => {
    const acme = await organisationWith(1);
    const { id } = (
      await acme.owner.post("/public-ips", {
        region: "ist1",
        protection: { delete: true },
        ptr: "a.example.org",
      })
    ).body;
    expect(await acme.owner.delete(`/public-ips/${id}`)).toMatchObject({
      status: 409,
      body: { code: "protected" },
    });
    const member = await world.addToken(acme.id, "member");
    expect(await member.patch(`/public-ips/${id}`, { protection: { delete: false } })).toMatchObject({
      status: 403,
      body: { required: ["public_ip:unprotect"] },
    });
    const changed = await acme.owner.patch(`/public-ips/${id}`, {
      protection: { delete: false },
      ptr: null,
      delete_with_server: true,
    });
    expect(changed.body).toMatchObject({ ptr: null, delete_with_server: true, generation: 2 });
    expect((await acme.owner.delete(`/public-ips/${id}`)).status).toBe(204);
  });

  it.each([
    "no dots",
    "a..b",
    "-a.example.org",
    "a.example.org.",
    "a.123",
    `${"a".repeat(64)}.org`,
    "ü.example.org",
  ])("has no PTR name %j", async (ptr) => {
    const acme = await organisationWith(0);
    expect((await acme.owner.post("/public-ips", { region: "ist1", ptr })).status).toBe(422);
  });

  it("is reserved by one of many callers: 32 compete for 20, and exactly 20 succeed", async () => {
    const acme = await organisationWith(20);
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => acme.owner.post("/public-ips", { region: "ist1" })),
    );
    const taken = answers.filter(({ status }) => status === 201).map(({ body }) => body.address);
    expect(new Set(taken).size).toBe(20);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(12);
    for (const { status, body } of refused) {
      expect(status).toBe(409);
      expect(body.code).toBe("no_public_ip_available");
    }
  });

  it("that is withdrawn while it is reserved ends as one of the two", async () => {
    const acme = await organisationWith(8);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => [
        acme.owner.post("/public-ips", { region: "ist1", address: `${acme.net}.${index + 2}` }),
        world.operator.delete(`/ip-pools/${acme.pool}/allocations/${acme.net}.${index + 2}`),
      ]).flat(),
    );
    for (let index = 0; index < 8; index += 1) {
      const statuses = [answers[index * 2]?.status, answers[index * 2 + 1]?.status];
      expect([
        [201, 409],
        [409, 204],
      ]).toContainEqual(statuses);
    }
  });

  it("cannot be inserted in the database without its address, nor lose it", async () => {
    const acme = await organisationWith(2);
    const { id, address } = (await acme.owner.post("/public-ips", { region: "ist1" })).body;
    const attempts = [
      `insert into public_ip (id, organisation_id, region, pool_id, version, address)
       values ('ip_x', '${acme.id}', 'ist1', '${acme.pool}', 4, '${acme.net}.99')`,
      `update public_address set state = 'free', public_ip_id = null where public_ip_id = '${id}'`,
      `update public_ip set address = '${acme.net}.98' where id = '${id}'`,
      `with freed as (delete from public_address where address = '${address}') select 1`,
    ];
    for (const attempt of attempts)
      await expect(owner.query(attempt), attempt).rejects.toMatchObject({
        code: "23514",
        constraint: "public_ip_kept",
      });
  });
});
