import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let owner: pg.Pool;
let networks = 0;

beforeAll(async () => {
  world = await ApiWorld.open({ addressQuarantineSeconds: 600 });
  acme = await world.addOrganisation("acme");
  await world.addRegion("ist1");
  owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
});
afterAll(async () => {
  await owner.end();
  await world.close();
});

const poolBody = (more: object = {}) => {
  networks += 1;
  return {
    region: "ist1",
    name: `pool-${networks}`,
    gateway: `100.64.${networks}.1`,
    prefix_length: 24,
    ...more,
  };
};

async function addPool(more: object = {}) {
  const answer = await world.operator.post("/ip-pools", poolBody(more));
  expect(answer.status).toBe(201);
  return answer.body;
}

const netOf = (pool: { gateway: string }) => pool.gateway.split(".").slice(0, 3).join(".");

describe("IP pools", () => {
  it("are for operators: all others get 403 that names the permission", async () => {
    for (const answer of [
      await acme.owner.get("/ip-pools"),
      await acme.owner.post("/ip-pools", poolBody()),
      await acme.owner.get("/ip-pools/pool_01hzzzzzzzzzzzzzzzzzzzzzzz/utilisation"),
    ]) {
      expect(answer.status).toBe(403);
      expect(answer.body.required).toEqual(["operator:ip_pools"]);
    }
  });

  it("never allocate the network, the gateway and the broadcast address", async () => {
    const pool = await addPool();
    const net = netOf(pool);
    const range = await world.operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: `${net}.0/24` });
    expect(range).toMatchObject({ status: 201, body: { start: `${net}.0`, end: `${net}.255`, size: 256 } });
    const given = await world.operator.post(`/ip-pools/${pool.id}/allocations`, {
      organisation_id: acme.id,
      count: 253,
    });
    expect(given.status).toBe(201);
    expect(given.body.addresses).toHaveLength(253);
    expect(given.body.addresses[0]).toBe(`${net}.2`);
    for (const reserved of [`${net}.0`, `${net}.1`, `${net}.255`])
      expect(given.body.addresses).not.toContain(reserved);
    const more = await world.operator.post(`/ip-pools/${pool.id}/allocations`, {
      organisation_id: acme.id,
      addresses: [`${net}.1`],
    });
    expect(more).toMatchObject({ status: 409, body: { code: "no_public_ip_available" } });
    expect((await world.operator.get(`/ip-pools/${pool.id}`)).body.addresses).toEqual({
      total: 256,
      reserved: 3,
      free: 0,
      allocated: 253,
      taken: 0,
      quarantined: 0,
    });
  });

  it("take ranges as a block or from start to end, and name what overlaps", async () => {
    const pool = await addPool();
    const net = netOf(pool);
    const path = `/ip-pools/${pool.id}/ranges`;
    expect((await world.operator.post(path, { start: `${net}.10`, end: `${net}.19` })).status).toBe(201);
    const first = (await world.operator.get(path)).body.items[0];
    for (const overlapping of [
      { cidr: `${net}.0/28` },
      { start: `${net}.19`, end: `${net}.30` },
      { cidr: `${net}.12/32` },
    ])
      expect(await world.operator.post(path, overlapping)).toMatchObject({
        status: 409,
        body: { code: "range_overlap", precondition: { resource: first.id } },
      });
    expect((await world.operator.post(path, { start: `${net}.20`, end: `${net}.30` })).status).toBe(201);
    // Another pool cannot hold the same address, in whatever region.
    await world.addRegion("ist2");
    const twin = await addPool({ region: "ist2", gateway: pool.gateway });
    expect(await world.operator.post(`/ip-pools/${twin.id}/ranges`, { cidr: `${net}.0/24` })).toMatchObject({
      status: 409,
      body: { code: "range_overlap" },
    });
  });

  it("of two ranges that are added at once and overlap have one", async () => {
    const pools = await Promise.all([addPool({ gateway: "100.99.0.1" }), addPool({ gateway: "100.99.0.2" })]);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        world.operator.post(`/ip-pools/${pools[index % 2]?.id}/ranges`, { cidr: "100.99.0.0/25" }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expect(answers.filter(({ status }) => status === 409).map(({ body }) => body.code)).toEqual(
      Array(7).fill("range_overlap"),
    );
  });

  it.each([
    [{ cidr: "100.64.250.0/24", start: "100.64.250.1" }, "/start", "conflicts_with"],
    [{ cidr: "198.51.100.0/24" }, "/cidr", "out_of_range"],
    [{ cidr: "100.64.250.1/24" }, "/cidr", "invalid_format"],
    [{ start: "100.64.250.9" }, "/end", "required"],
    [{ start: "100.64.250.9", end: "100.64.250.8" }, "/end", "out_of_range"],
    [{ start: "1.2.3", end: "100.64.250.8" }, "/start", "invalid_format"],
    [{}, "/start", "required"],
  ])("refuse the range %j at %s", async (body, pointer, code) => {
    const pool = await addPool({ gateway: "100.64.250.1" });
    const answer = await world.operator.post(`/ip-pools/${pool.id}/ranges`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer, code }));
  });

  it("contain no address that no guest can have, however wide their network is", async () => {
    const pool = await addPool({ gateway: "169.253.0.1", prefix_length: 8 });
    for (const cidr of ["169.254.0.0/24", "169.254.240.0/20"]) {
      const answer = await world.operator.post(`/ip-pools/${pool.id}/ranges`, { cidr });
      expect(answer.status, cidr).toBe(422);
      expect(answer.body.errors).toMatchObject([{ pointer: "/cidr", code: "out_of_range" }]);
    }
    const ends = { start: "169.253.255.250", end: "169.254.0.3" };
    const across = await world.operator.post(`/ip-pools/${pool.id}/ranges`, ends);
    expect(across.body.errors).toMatchObject([{ pointer: "/start", code: "out_of_range" }]);
  });

  it.each([
    [{ gateway: "127.0.0.1" }, "/gateway", "invalid_format"],
    [{ gateway: "1.2.3" }, "/gateway", "invalid_format"],
    [{ gateway: "100.64.240.0" }, "/gateway", "out_of_range"],
    [{ gateway: "100.64.240.255" }, "/gateway", "out_of_range"],
    [{ gateway: "100.64.240.4", prefix_length: 30 }, "/gateway", "out_of_range"],
    [{ gateway: "100.64.240.7", prefix_length: 30 }, "/gateway", "out_of_range"],
    [{ gateway: "::ffff:203.0.113.1", prefix_length: 120 }, "/gateway", "invalid_format"],
    [{ gateway: "::203.0.113.1", prefix_length: 120 }, "/gateway", "invalid_format"],
    [{ prefix_length: 32 }, "/prefix_length", "out_of_range"],
    [{ vlan: 100 }, "/vlan", "conflicts_with"],
    [{ reverse_name: "static.example.net" }, "/reverse_name", "invalid_format"],
    [{ reverse_name: `*.${"a.".repeat(120)}` }, "/reverse_name", "too_long"],
    [{ region: "nowhere" }, "/region", "not_found"],
  ])("cannot be created with %j", async (wrong, pointer, code) => {
    const answer = await world.operator.post("/ip-pools", poolBody(wrong));
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer, code })]);
  });

  it("can be of IPv6", async () => {
    const pool = await addPool({ gateway: "2001:db8:1::1", prefix_length: 64, vlan: 20 });
    expect(pool).toMatchObject({ version: 6, vlan: 20 });
    const path = `/ip-pools/${pool.id}`;
    expect(await world.operator.post(`${path}/ranges`, { cidr: "2001:db8:1::/64" })).toMatchObject({
      status: 422,
      body: { errors: [{ code: "too_long" }] },
    });
    expect((await world.operator.post(`${path}/ranges`, { cidr: "2001:db8:1::/120" })).status).toBe(201);
    const given = await world.operator.post(`${path}/allocations`, { organisation_id: acme.id, count: 2 });
    expect(given.body.addresses).toEqual(["2001:db8:1::2", "2001:db8:1::3"]);
    const address = encodeURIComponent("2001:DB8:1::2");
    expect((await world.operator.delete(`${path}/allocations/${address}`)).status).toBe(204);
    expect((await world.operator.delete(`${path}/allocations/${address}`)).status).toBe(404);
  });

  it("are in use while an address of them is allocated, reserved or quarantined", async () => {
    const pool = await addPool();
    const net = netOf(pool);
    const path = `/ip-pools/${pool.id}`;
    const range = (await world.operator.post(`${path}/ranges`, { cidr: `${net}.8/30` })).body;
    await world.operator.post(`${path}/allocations`, { organisation_id: acme.id, addresses: [`${net}.9`] });
    const refused = async () => {
      for (const target of [path, `${path}/ranges/${range.id}`])
        expect(await world.operator.delete(target)).toMatchObject({ status: 409, body: { code: "in_use" } });
    };
    await refused();
    const taken = await acme.owner.post("/public-ips", { region: "ist1", address: `${net}.9` });
    expect(taken.status).toBe(201);
    expect(await world.operator.delete(`${path}/allocations/${net}.9`)).toMatchObject({
      status: 409,
      body: { code: "in_use", precondition: { resource: taken.body.id } },
    });
    expect((await world.operator.get(`${path}/utilisation`)).body).toMatchObject({
      addresses: { total: 4, taken: 1, free: 3 },
      organisations: [{ organisation: { slug: "acme" }, allocated: 1, taken: 1, attached: 0 }],
    });
    await acme.owner.delete(`/public-ips/${taken.body.id}`);
    expect((await world.operator.get(`${path}/allocations`)).body.items).toMatchObject([
      { address: `${net}.9`, state: "quarantined", public_ip_id: null, organisation: { slug: "acme" } },
    ]);
    expect((await world.operator.delete(`${path}/allocations/${net}.9`)).status).toBe(204);
    // Withdrawn, and still in quarantine: a new owner would receive traffic for the old one.
    await refused();
    await owner.query("update public_address set free_after = now() where address = $1", [`${net}.9`]);
    expect((await world.operator.delete(`${path}/ranges/${range.id}`)).status).toBe(204);
    expect((await world.operator.delete(path)).status).toBe(204);
    expect((await world.operator.get(path)).status).toBe(404);
  });
});
