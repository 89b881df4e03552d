import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../platform/ids.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { allocateAddress, ensureDefaultNetwork } from "./index.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let other: TestOrganisation;
let database: Client;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  other = await world.addOrganisation("other");
  await world.addRegion("r1", { vlan_range: { first: 100, last: 399 } });
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await world.close();
});

let names = 0;
async function newNetwork(body: Record<string, unknown> = {}, organisation = acme) {
  names += 1;
  const answer = await organisation.owner.post("/networks", { name: `net-${names}`, region: "r1", ...body });
  expect(answer.status).toBe(201);
  return answer.body.network as { id: string; cidr: string };
}

const subnetsOf = (network: { id: string }) => `/networks/${network.id}/subnets`;

describe("networks", () => {
  test("without a range the next free /16 is used; two organisations may have the same", async () => {
    const [first, second] = [await newNetwork(), await newNetwork()];
    expect([first.cidr, second.cidr]).toEqual(["10.0.0.0/16", "10.1.0.0/16"]);
    expect((await newNetwork({}, other)).cidr).toBe("10.0.0.0/16");
    expect((await newNetwork({ cidr: "10.0.0.0/8" })).cidr).toBe("10.0.0.0/8");
  });

  test("the only region need not be named", async () => {
    const answer = await acme.owner.post("/networks", { name: "unnamed-region" });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      network: { region: "r1", status: "active", subnets: [] },
      job: null,
    });
    expect(answer.headers.get("etag")).toBe('"g1"');
    await world.addRegion("r2");
    const unclear = await acme.owner.post("/networks", { name: "unclear" });
    expect(unclear.body.errors).toMatchObject([{ field: "region", code: "required" }]);
  });

  test.each([
    ["8.8.0.0/16", "out_of_range"],
    ["10.0.0.0/29", "out_of_range"],
    ["10.0.0.0/7", "out_of_range"],
    ["172.0.0.0/8", "out_of_range"],
    ["10.0.0.1/16", "invalid_format"],
    ["10.0.0.0", "invalid_format"],
    ["300.0.0.0/16", "invalid_format"],
  ])("the range %s is refused", async (cidr, code) => {
    const answer = await acme.owner.post("/networks", { name: "bad", region: "r1", cidr });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field: "cidr", code }]);
  });

  test("a name is used once in a region; the network named default is the default", async () => {
    const network = await newNetwork({ name: "default" });
    expect((await acme.owner.get(`/networks/${network.id}`)).body.is_default).toBe(true);
    const again = await acme.owner.post("/networks", { name: "default", region: "r1" });
    expect([again.status, again.body.code]).toEqual([409, "name_taken"]);
    const renamed = await acme.owner.patch(`/networks/${network.id}`, { name: "former", labels: { a: "1" } });
    expect(renamed.body.network).toMatchObject({ is_default: false, generation: 2, observed_generation: 2 });
    const taken = await acme.owner.patch(`/networks/${network.id}`, { name: "net-1" });
    expect([taken.status, taken.body.code]).toEqual([409, "name_taken"]);
  });

  test("a network with subnets cannot be deleted, an empty one can", async () => {
    const network = await newNetwork();
    const subnet = await acme.owner.post(subnetsOf(network), { name: "app", tier: "app" });
    const refused = await acme.owner.delete(`/networks/${network.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
    expect(refused.body.precondition.resource).toBe(subnet.body.subnet.id);
    expect((await acme.owner.delete(`${subnetsOf(network)}/${subnet.body.subnet.id}`)).status).toBe(204);
    expect((await acme.owner.delete(`/networks/${network.id}`)).status).toBe(204);
    expect((await acme.owner.get(`/networks/${network.id}`)).status).toBe(404);
  });

  test("another organisation's network is not there, under any call", async () => {
    const theirs = await newNetwork({}, other);
    const path = `/networks/${theirs.id}`;
    const answers = [
      await acme.owner.get(path),
      await acme.owner.patch(path, { name: "mine" }),
      await acme.owner.delete(path),
      await acme.owner.get(`${path}/subnets`),
      await acme.owner.post(`${path}/subnets`, { name: "app", tier: "app" }),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404, 404, 404]);
    const subnet = await other.owner.post(`${path}/subnets`, { name: "app", tier: "app" });
    const mine = await newNetwork();
    expect((await acme.owner.get(`${subnetsOf(mine)}/${subnet.body.subnet.id}`)).status).toBe(404);
  });
});

describe("subnets", () => {
  test("the next free /24, the first usable address for the gateway, and a VLAN that only operators see", async () => {
    const network = await newNetwork({ cidr: "10.20.0.0/16" });
    const body = { name: "app", tier: "app", dns_servers: ["9.9.9.9"], labels: { a: "1" } };
    const created = await acme.owner.post(subnetsOf(network), body);
    expect(created.status).toBe(201);
    expect(created.body.subnet).toMatchObject({
      cidr: "10.20.0.0/24",
      gateway_ip: "10.20.0.1",
      egress: "none",
      vlan: null,
      usage: { addresses_total: 253, addresses_used: 0 },
    });
    const operator = world.operator.with({ "Kule-Organisation": acme.id });
    const path = `${subnetsOf(network)}/${created.body.subnet.id}`;
    expect((await operator.get(path)).body.vlan).toBeGreaterThanOrEqual(100);
    const data = await acme.owner.post(subnetsOf(network), { name: "db", tier: "data" });
    expect(data.body.subnet).toMatchObject({ cidr: "10.20.1.0/24", egress: "forbidden" });
    const shown = (await acme.owner.get(`/networks/${network.id}`)).body;
    expect(shown.subnets.map((subnet: { name: string }) => subnet.name)).toEqual(["app", "db"]);
    expect(shown.usage.addresses_total).toBe(506);
  });

  test.each([
    ["10.30.0.0/15", "out_of_range"],
    ["10.31.0.0/24", "out_of_range"],
    ["10.30.0.0/30", "out_of_range"],
    ["10.30.0.1/24", "invalid_format"],
  ])("the range %s is refused in 10.30.0.0/16", async (cidr, code) => {
    names += 1;
    const network = await newNetwork({ name: `ranges-${names}`, cidr: "10.30.0.0/16" });
    const answer = await acme.owner.post(subnetsOf(network), { name: "x", tier: "app", cidr });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field: "cidr", code }]);
  });

  test("ranges of one network do not overlap", async () => {
    const network = await newNetwork({ cidr: "10.40.0.0/16" });
    const first = await acme.owner.post(subnetsOf(network), { name: "a", tier: "app", cidr: "10.40.1.0/24" });
    const overlap = await acme.owner.post(subnetsOf(network), {
      name: "b",
      tier: "app",
      cidr: "10.40.0.0/20",
    });
    expect([overlap.status, overlap.body.code]).toEqual([409, "cidr_overlap"]);
    expect(overlap.body.precondition.resource).toBe(first.body.subnet.id);
    const namesake = await acme.owner.post(subnetsOf(network), { name: "a", tier: "app" });
    expect([namesake.status, namesake.body.code]).toEqual([409, "name_taken"]);
  });

  test("a small network becomes one subnet, and then it is full", async () => {
    const network = await newNetwork({ cidr: "192.168.7.0/28" });
    const first = await acme.owner.post(subnetsOf(network), { name: "a", tier: "app" });
    expect(first.body.subnet.cidr).toBe("192.168.7.0/28");
    const second = await acme.owner.post(subnetsOf(network), { name: "b", tier: "app" });
    expect([second.status, second.body.code]).toEqual([409, "network_full"]);
  });

  test("created concurrently, they get ranges and VLANs of their own", async () => {
    const network = await newNetwork({ cidr: "10.50.0.0/16" });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        acme.owner.post(subnetsOf(network), { name: `s-${index}`, tier: "app" }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map((answer) => answer.body.subnet.cidr)).size).toBe(30);
    const { rows } = await database.query(
      `select count(*)::int as subnets, count(distinct v.vlan)::int as vlans
         from subnet s join region_vlan v on v.subnet_id = s.id where s.network_id = $1`,
      [network.id],
    );
    expect(rows).toEqual([{ subnets: 30, vlans: 30 }]);
  });

  test("created concurrently in unrelated networks, they never share a VLAN", async () => {
    const networks: { id: string }[] = [];
    while (networks.length < 20) networks.push(await newNetwork());
    const answers = await Promise.all(
      networks.map((network) => acme.owner.post(subnetsOf(network), { name: "app", tier: "app" })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
    const operator = world.operator.with({ "Kule-Organisation": acme.id });
    const vlans: number[] = [];
    for (const { body } of answers)
      vlans.push(
        (await operator.get(`/networks/${body.subnet.network_id}/subnets/${body.subnet.id}`)).body.vlan,
      );
    expect(vlans.every(Number.isInteger)).toBe(true);
    expect(new Set(vlans).size).toBe(20);
  });

  test("when the region's VLANs are used up nothing is created; a deleted subnet releases its VLAN", async () => {
    await world.addRegion("tiny", { vlan_range: { first: 7, last: 7 } });
    const network = await newNetwork({ region: "tiny" });
    const first = await acme.owner.post(subnetsOf(network), { name: "a", tier: "app" });
    const second = await acme.owner.post(subnetsOf(network), { name: "b", tier: "app" });
    expect([second.status, second.body.code]).toEqual([409, "vlan_exhausted"]);
    expect((await acme.owner.get(subnetsOf(network))).body.items).toHaveLength(1);
    await acme.owner.delete(`${subnetsOf(network)}/${first.body.subnet.id}`);
    expect((await acme.owner.post(subnetsOf(network), { name: "b", tier: "app" })).status).toBe(201);
  });

  test("the tier is not a field of a change", async () => {
    const network = await newNetwork();
    const { body } = await acme.owner.post(subnetsOf(network), { name: "a", tier: "data" });
    const path = `${subnetsOf(network)}/${body.subnet.id}`;
    const tier = await acme.owner.patch(path, { tier: "app" });
    expect(tier.body.errors).toMatchObject([{ field: "tier", code: "unknown_field" }]);
    const changed = await acme.owner.patch(path, { dns_servers: [], name: "b" }, { "If-Match": '"g1"' });
    expect(changed.body.subnet).toMatchObject({ name: "b", dns_servers: [], generation: 2 });
    expect((await acme.owner.delete(path, { "If-Match": '"g1"' })).status).toBe(412);
  });
});

describe("addresses", () => {
  /** No transaction could commit an incomplete server: the replica role skips the checks. */
  async function unchecked(statements: string): Promise<void> {
    await database.query(`begin; set local session_replication_role = replica; ${statements}; commit`);
  }

  /** A server record with one interface that waits for its address. */
  async function newInterface(subnet: { id: string; region: string }): Promise<string> {
    const [serverId, nicId] = [newId("srv"), newId("nic")];
    await unchecked(
      `insert into server (id, organisation_id, region, name, status, image, package)
       values ('${serverId}', '${acme.id}', '${subnet.region}', 'srv-${serverId.slice(-10)}', 'running', 'debian-12', 's');
       insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
       values ('${nicId}', '${acme.id}', '${subnet.region}', '${serverId}', '${subnet.id}',
               ('02' || substr(md5('${nicId}'), 1, 10))::macaddr)`,
    );
    return nicId;
  }

  async function allocate(subnet: { id: string; region: string }, wanted?: string): Promise<string> {
    return allocateFor(await newInterface(subnet), subnet, wanted);
  }

  function allocateFor(nicId: string, subnet: { id: string }, wanted?: string): Promise<string> {
    return inTransaction(world.replica.deps.db, async (tx) => {
      actAs(tx, acme.id);
      const address = await allocateAddress(tx, {
        organisationId: acme.id,
        subnetId: subnet.id,
        holder: { nicId },
        wanted,
      });
      if (address === null) throw new Error("the subnet is gone");
      return address;
    });
  }

  async function release(subnetId: string, address: string, restsSeconds: number): Promise<void> {
    await unchecked(
      `update address set state = 'quarantined', nic_id = null, free_after = now() + make_interval(secs => ${restsSeconds})
        where subnet_id = '${subnetId}' and address = '${address}'`,
    );
  }

  async function newSubnet(cidr: string): Promise<{ id: string; region: string }> {
    const network = await newNetwork({ cidr: "10.60.0.0/16" });
    const answer = await acme.owner.post(subnetsOf(network), { name: "app", tier: "app", cidr });
    return answer.body.subnet;
  }

  test("the lowest free one is allocated, from the second usable on, until there is none", async () => {
    const subnet = await newSubnet("10.60.1.0/29");
    expect(await allocate(subnet)).toBe("10.60.1.2");
    expect(await allocate(subnet, "10.60.1.4")).toBe("10.60.1.4");
    expect(await allocate(subnet)).toBe("10.60.1.3");
    expect(await allocate(subnet)).toBe("10.60.1.5");
    expect(await allocate(subnet)).toBe("10.60.1.6");
    await expect(allocate(subnet)).rejects.toMatchObject({ code: "subnet_exhausted" });
  });

  test("a requested one is assigned when it is free, never when it is used, reserved or quarantined", async () => {
    const subnet = await newSubnet("10.60.2.0/29");
    await allocate(subnet, "10.60.2.5");
    for (const wanted of ["10.60.2.5", "10.60.2.1", "10.60.2.0", "10.60.2.7"])
      await expect(allocate(subnet, wanted)).rejects.toMatchObject({ code: "address_in_use" });
    await release(subnet.id, "10.60.2.5", 600);
    await expect(allocate(subnet, "10.60.2.5")).rejects.toMatchObject({ code: "address_in_use" });
    await release(subnet.id, "10.60.2.5", 0);
    expect(await allocate(subnet, "10.60.2.5")).toBe("10.60.2.5");
  });

  test("a released one is quarantined, and then is the lowest free one again", async () => {
    const subnet = await newSubnet("10.60.3.0/28");
    expect([await allocate(subnet), await allocate(subnet), await allocate(subnet)]).toEqual([
      "10.60.3.2",
      "10.60.3.3",
      "10.60.3.4",
    ]);
    await release(subnet.id, "10.60.3.3", 600);
    expect(await allocate(subnet)).toBe("10.60.3.5");
    await release(subnet.id, "10.60.3.3", 0);
    expect([await allocate(subnet), await allocate(subnet)]).toEqual(["10.60.3.3", "10.60.3.6"]);
  });

  test("of many concurrent allocations each gets another one and none is left out", async () => {
    const subnet = await newSubnet("10.60.4.0/24");
    const interfaces: string[] = [];
    while (interfaces.length < 100) interfaces.push(await newInterface(subnet));
    const given = await Promise.all(interfaces.map((nicId) => allocateFor(nicId, subnet)));
    expect(new Set(given).size).toBe(100);
    expect(given.toSorted((a, b) => Number(a.split(".")[3]) - Number(b.split(".")[3])).at(-1)).toBe(
      "10.60.4.101",
    );
    const shown = await acme.owner.get(`/networks/${await networkOf(subnet.id)}`);
    expect(shown.body.usage.addresses_used).toBe(100);
  });

  test("a subnet with servers cannot be deleted, and the answer names them", async () => {
    const subnet = await newSubnet("10.60.5.0/24");
    await allocate(subnet);
    const path = `/networks/${await networkOf(subnet.id)}/subnets/${subnet.id}`;
    const refused = await acme.owner.delete(path);
    expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
    expect(refused.body.detail).toMatch(/srv-\w+ \(srv_\w+\)/);
  });

  async function networkOf(subnetId: string): Promise<string> {
    const { rows } = await database.query("select network_id from subnet where id = $1", [subnetId]);
    return rows[0].network_id;
  }
});

test("two first servers at the same time share one default network", async () => {
  const fresh = await world.addOrganisation("fresh");
  const results = await Promise.all(
    Array.from({ length: 8 }, () =>
      inTransaction(world.replica.deps.db, async (tx) => {
        actAs(tx, fresh.id);
        return ensureDefaultNetwork(tx, fresh.id, "r1", {
          requestedBy: { type: "system", id: null, name: "test" },
          requestId: "req_test",
        });
      }),
    ),
  );
  expect(new Set(results.map((result) => result.subnetId)).size).toBe(1);
  expect(results.filter((result) => result.createdAlong !== null)).toHaveLength(1);
  const { body } = await fresh.owner.get("/networks");
  expect(body.items).toMatchObject([
    { name: "default", is_default: true, subnets: [{ name: "app", tier: "app" }] },
  ]);
});
