import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { sweepRemovalBuffers } from "../../worker/expire-removal-buffer.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

type Subnet = { readonly id: string; readonly path: string; readonly network: string };

let made = 0;
/** A network with this block as its one subnet. */
async function newSubnet(cidr = "10.0.0.0/29", owner = world.owned): Promise<Subnet> {
  made += 1;
  const wanted = { name: `kept-${made}`, region: world.region, cidr: "10.0.0.0/16" };
  const network = (await owner.post("/networks", wanted)).body.network.id as string;
  const answer = await owner.post(`/networks/${network}/subnets`, { name: "app", tier: "app", cidr });
  const { id } = answer.body.subnet;
  return { id, network, path: `/networks/${network}/subnets/${id}` };
}

let named = 0;
const reserve = (subnet: Subnet, more: object = {}, owner = world.owned): Promise<Answer> => {
  named += 1;
  return owner.post(`${subnet.path}/reservations`, { name: `kept-${named}`, ...more });
};
const create = (subnet: Subnet, more: object = {}): Promise<Answer> =>
  world.owned.post("/servers", world.body({ subnet_id: subnet.id, ...more }));
const brief = ({ status, body }: Answer) => `${status} ${body.code ?? ""}`.trim();
const usageOf = async (subnet: Subnet) => (await world.owned.get(subnet.path)).body.usage;
const addressOf = ({ body }: Answer) => body.server.interfaces[0].private_ip as string;

/** Ends the quarantine of the subnet's addresses. */
async function passQuarantine(subnet: Subnet): Promise<void> {
  await world.owner.query(
    "update address set free_after = clock_timestamp() - interval '1 second' where subnet_id = $1 and state = 'quarantined'",
    [subnet.id],
  );
}

/** Creates a server and deletes it, up to the end of its buffer. */
async function destroy(serverId: string): Promise<void> {
  await world.agent.work();
  expect((await world.owned.delete(`/servers/${serverId}`)).status).toBe(202);
  await world.agent.work();
  await world.passBuffer(serverId);
  await sweepRemovalBuffers(world.world.replica.deps);
  await world.agent.work();
  expect((await world.owned.get(`/servers/${serverId}`)).status).toBe(404);
}

describe("a reservation", () => {
  test("keeps the address that it names, or the lowest free one", async () => {
    const subnet = await newSubnet("10.0.1.0/24");
    const byName = await reserve(subnet, {
      name: "primary-db",
      address: "10.0.1.40",
      description: "the shop's",
      labels: { role: "db" },
    });
    expect(byName.status).toBe(201);
    expect(byName.body).toMatchObject({
      network_id: subnet.network,
      subnet_id: subnet.id,
      region: "ist1",
      name: "primary-db",
      description: "the shop's",
      address: "10.0.1.40",
      state: "reserved",
      server: null,
      labels: { role: "db" },
      generation: 1,
    });
    expect(byName.headers.get("location")).toBe(`/api/v1${subnet.path}/reservations/${byName.body.id}`);
    const next = [await reserve(subnet), await reserve(subnet)];
    expect(next.map(({ body }) => body.address)).toEqual(["10.0.1.2", "10.0.1.3"]);
    expect((await world.owned.get(`${subnet.path}/reservations/${byName.body.id}`)).body).toEqual(
      byName.body,
    );
    const listed = (await world.owned.get(`${subnet.path}/reservations?label_selector=role=db`)).body.items;
    expect(listed).toEqual([byName.body]);
    expect((await world.owned.get(`${subnet.path}/reservations?name=kept-none`)).body.items).toEqual([]);
  });

  test.each([
    ["10.0.0.0", "the network's"],
    ["10.0.0.1", "the gateway's"],
    ["10.0.0.7", "the broadcast's"],
    ["10.0.0.8", "of no one"],
  ])("cannot keep %s, which is %s", async (address) => {
    const answer = await reserve(await newSubnet(), { address });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field: "address", code: "out_of_range" }]);
  });

  test("cannot reserve a used, reserved or quarantined address, and names its owner", async () => {
    const subnet = await newSubnet();
    const server = await create(subnet, { private_ip: "10.0.0.2" });
    const kept = await reserve(subnet, { address: "10.0.0.3" });
    for (const [address, resource] of [
      ["10.0.0.2", server.body.server.id],
      ["10.0.0.3", kept.body.id],
    ]) {
      const refused = await reserve(subnet, { address });
      expect([brief(refused), refused.body.precondition.resource]).toEqual(["409 address_in_use", resource]);
    }
    await destroy(server.body.server.id);
    expect(brief(await reserve(subnet, { address: "10.0.0.2" }))).toBe("409 address_in_use");
    await passQuarantine(subnet);
    expect(brief(await reserve(subnet, { address: "10.0.0.2" }))).toBe("201");
  });

  test("has a name once in its subnet, and a refused one keeps nothing", async () => {
    const subnet = await newSubnet();
    expect(brief(await reserve(subnet, { name: "db" }))).toBe("201");
    expect(brief(await reserve(subnet, { name: "db" }))).toBe("409 name_taken");
    expect((await usageOf(subnet)).addresses_reserved).toBe(1);
    expect(brief(await reserve(await newSubnet(), { name: "db" }))).toBe("201");
  });

  test("is changed in its name, description and labels, and in nothing else", async () => {
    const subnet = await newSubnet();
    const { body } = await reserve(subnet, { labels: { role: "db" } });
    await reserve(subnet, { name: "taken" });
    const path = `${subnet.path}/reservations/${body.id}`;
    const changed = await world.owned.patch(path, { name: "db", labels: { role: null, of: "a" } });
    expect(changed.body).toMatchObject({
      name: "db",
      address: body.address,
      labels: { of: "a" },
      generation: 2,
    });
    expect(brief(await world.owned.patch(path, { name: "taken" }))).toBe("409 name_taken");
    const moved = await world.owned.patch(path, { address: "10.0.0.6" });
    expect(moved.body.errors).toMatchObject([{ field: "address", code: "unknown_field" }]);
    expect((await world.owned.patch(path, { name: "x" }, { "If-Match": '"g1"' })).status).toBe(412);
    expect((await world.owned.delete(path, { "If-Match": '"g1"' })).status).toBe(412);
  });

  test("is not there under another subnet, nor for another organisation", async () => {
    const subnet = await newSubnet();
    const { body } = await reserve(subnet);
    const elsewhere = await newSubnet();
    expect((await world.owned.get(`${elsewhere.path}/reservations/${body.id}`)).status).toBe(404);
    const { owner } = await world.world.addOrganisation(`other-${made}`);
    expect((await reserve(subnet, {}, owner)).status).toBe(404);
    expect((await owner.delete(`${subnet.path}/reservations/${body.id}`)).status).toBe(404);
  });

  test("keeps its subnet from being deleted", async () => {
    const subnet = await newSubnet();
    const { body } = await reserve(subnet);
    const refused = await world.owned.delete(subnet.path);
    expect([brief(refused), refused.body.precondition.resource]).toEqual(["409 in_use", body.id]);
    expect((await world.owned.delete(`${subnet.path}/reservations/${body.id}`)).status).toBe(204);
    expect((await world.owned.delete(subnet.path)).status).toBe(204);
  });
});

describe("a reserved address", () => {
  test("goes to no server automatically, only to one that names it", async () => {
    const subnet = await newSubnet();
    const kept = await reserve(subnet, { address: "10.0.0.3" });
    const servers = await Promise.all(Array.from({ length: 5 }, () => create(subnet)));
    expect(servers.map(brief).sort()).toEqual([...Array(4).fill("202"), "409 subnet_exhausted"]);
    expect(
      servers
        .filter(({ status }) => status === 202)
        .map(addressOf)
        .sort(),
    ).toEqual(["10.0.0.2", "10.0.0.4", "10.0.0.5", "10.0.0.6"]);
    // Nothing else is free, and the dry run reports the same.
    const dry = (more: object = {}) =>
      world.owned.post("/servers?dry_run=true", world.body({ subnet_id: subnet.id, ...more }));
    expect((await dry()).body.blockers).toMatchObject([{ code: "subnet_exhausted" }]);
    expect((await dry({ private_ip: "10.0.0.3" })).body.blockers).toEqual([]);
    expect(brief(await reserve(subnet))).toBe("409 subnet_exhausted");
    const server = await create(subnet, { private_ip: "10.0.0.3" });
    expect(addressOf(server)).toBe("10.0.0.3");
    const { id, name } = server.body.server;
    expect((await world.owned.get(`${subnet.path}/reservations/${kept.body.id}`)).body).toMatchObject({
      state: "used",
      server: { id, name },
    });
    const again = await create(subnet, { private_ip: "10.0.0.3" });
    expect([brief(again), again.body.precondition.resource]).toEqual(["409 address_in_use", id]);
  });

  test("is quarantined when its server is deleted, and then belongs to the reservation again", async () => {
    const subnet = await newSubnet();
    const kept = await reserve(subnet);
    const path = `${subnet.path}/reservations/${kept.body.id}`;
    const { id } = (await create(subnet, { private_ip: "10.0.0.2" })).body.server;
    await destroy(id);
    expect((await world.owned.get(path)).body).toMatchObject({ state: "quarantined", server: null });
    expect(brief(await create(subnet, { private_ip: "10.0.0.2" }))).toBe("409 address_in_use");
    await passQuarantine(subnet);
    expect((await world.owned.get(path)).body).toMatchObject({ state: "reserved", address: "10.0.0.2" });
    // The lowest whose quarantine is over, but only for a server that names it.
    expect(addressOf(await create(subnet))).toBe("10.0.0.3");
    expect(brief(await reserve(subnet, { address: "10.0.0.2" }))).toBe("409 address_in_use");
    expect((await reserve(subnet)).body.address).toBe("10.0.0.4");
    expect(addressOf(await create(subnet, { private_ip: "10.0.0.2" }))).toBe("10.0.0.2");
  });

  test("that is deleted is quarantined before it is assigned", async () => {
    const subnet = await newSubnet();
    const { body } = await reserve(subnet);
    expect((await world.owned.delete(`${subnet.path}/reservations/${body.id}`)).status).toBe(204);
    expect(await usageOf(subnet)).toMatchObject({ addresses_quarantined: 1, addresses_reserved: 0 });
    expect(addressOf(await create(subnet))).toBe("10.0.0.3");
    expect(brief(await create(subnet, { private_ip: "10.0.0.2" }))).toBe("409 address_in_use");
    await passQuarantine(subnet);
    expect(addressOf(await create(subnet))).toBe("10.0.0.2");
  });

  test("that is deleted while a server has it stays the server's", async () => {
    const subnet = await newSubnet();
    const { body } = await reserve(subnet);
    const server = await create(subnet, { private_ip: body.address });
    expect((await world.owned.delete(`${subnet.path}/reservations/${body.id}`)).status).toBe(204);
    expect((await world.server(server.body.server.id)).interfaces[0].private_ip).toBe("10.0.0.2");
    expect(await usageOf(subnet)).toMatchObject({ addresses_used: 1, addresses_reserved: 0 });
    await destroy(server.body.server.id);
    await passQuarantine(subnet);
    expect(addressOf(await create(subnet))).toBe("10.0.0.2");
  });
});

describe("the addresses of a subnet", () => {
  test("are listed with their owners and since when, in their order", async () => {
    const subnet = await newSubnet("10.0.2.0/28");
    const list = async (query = "") => (await world.owned.get(`${subnet.path}/addresses${query}`)).body.items;
    const before = Date.now();
    const kept = (await reserve(subnet, { address: "10.0.2.9", name: "later" })).body;
    const held = (await reserve(subnet, { name: "now" })).body;
    const [own, gone] = [await create(subnet, { private_ip: "10.0.2.2" }), await create(subnet)];
    await destroy(gone.body.server.id);
    const { id, name } = own.body.server;
    const nobody = { role: null, server: null, reservation: null, free_after: null };
    const items = await list();
    expect(items).toMatchObject([
      { ...nobody, address: "10.0.2.0", state: "platform", role: "network" },
      { ...nobody, address: "10.0.2.1", state: "platform", role: "gateway" },
      {
        ...nobody,
        address: "10.0.2.2",
        state: "used",
        server: { id, name },
        reservation: { id: held.id, name: "now" },
      },
      { ...nobody, address: "10.0.2.3", state: "quarantined", free_after: expect.any(String) },
      { ...nobody, address: "10.0.2.9", state: "reserved", reservation: { id: kept.id, name: "later" } },
      { ...nobody, address: "10.0.2.15", state: "platform", role: "broadcast" },
    ]);
    const since = Object.fromEntries(
      items.map((item: { address: string; since: string }) => [item.address, Date.parse(item.since)]),
    );
    // Within the clock's tolerance: the database's may differ.
    expect(since["10.0.2.9"]).toBeGreaterThan(before - 1000);
    expect(since["10.0.2.2"]).toBeGreaterThan(since["10.0.2.9"]);
    expect(since["10.0.2.3"]).toBeGreaterThan(since["10.0.2.2"]);
    for (const state of ["used", "reserved", "quarantined", "platform"])
      expect(await list(`?state=${state}`)).toEqual(
        items.filter((item: { state: string }) => item.state === state),
      );
    await passQuarantine(subnet);
    expect((await list("?state=quarantined")).length).toBe(0);
    expect((await list()).map(({ address }: { address: string }) => address)).not.toContain("10.0.2.3");
  });

  test("come in pages that neither repeat nor skip, in numeric order", async () => {
    const subnet = await newSubnet("10.0.0.0/24");
    for (const address of ["10.0.0.100", "10.0.0.20", "10.0.0.3"]) await reserve(subnet, { address });
    const pages: string[][] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { body } = await world.owned.get(`${subnet.path}/addresses?limit=2${more}`);
      pages.push(body.items.map(({ address }: { address: string }) => address));
      cursor = body.next_cursor;
    }
    expect(pages).toEqual([
      ["10.0.0.0", "10.0.0.1"],
      ["10.0.0.3", "10.0.0.20"],
      ["10.0.0.100", "10.0.0.255"],
    ]);
  });

  test("are counted: what is used, reserved and free is all that there is", async () => {
    const subnet = await newSubnet("10.0.0.0/28");
    await reserve(subnet);
    await create(subnet);
    const gone = await create(subnet);
    await destroy(gone.body.server.id);
    const counted = {
      addresses_total: 13,
      addresses_used: 2,
      addresses_quarantined: 1,
      addresses_reserved: 1,
      addresses_free: 10,
    };
    expect(await usageOf(subnet)).toEqual(counted);
    expect((await world.owned.get(`/networks/${subnet.network}`)).body.usage).toEqual(counted);
    await passQuarantine(subnet);
    expect(await usageOf(subnet)).toMatchObject({ addresses_used: 1, addresses_free: 11 });
  });
});

describe("servers and reservations at the same time", () => {
  test("never get the same address, named or automatic", { timeout: 60_000 }, async () => {
    const subnet = await newSubnet("10.0.0.0/26");
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, index) => {
        if (index % 3 === 0) return create(subnet);
        // Those that name one request the addresses that the others are about to get.
        return reserve(subnet, index % 3 === 1 ? {} : { address: `10.0.0.${2 + Math.floor(index / 3)}` });
      }),
    );
    const seen = new Set(answers.map(brief));
    expect(
      [...seen].filter((each) => !/^(201|202|409 (address_in_use|subnet_exhausted))$/.test(each)),
    ).toEqual([]);
    const given = answers.flatMap((answer) =>
      answer.status === 202
        ? addressOf(answer)
        : answer.status === 201
          ? (answer.body.address as string)
          : [],
    );
    expect(given.length).toBeGreaterThan(59);
    expect(new Set(given).size).toBe(given.length);
    const usage = await usageOf(subnet);
    expect(usage.addresses_used + usage.addresses_reserved).toBe(given.length);
    expect(usage.addresses_free).toBe(61 - given.length);
  });

  test("that name one reserved address let one server have it", async () => {
    const subnet = await newSubnet("10.0.0.0/24");
    const { body } = await reserve(subnet, { address: "10.0.0.9" });
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => create(subnet, { private_ip: body.address })),
    );
    expect(answers.map(brief).sort()).toEqual(["202", ...Array(11).fill("409 address_in_use")]);
  });
});
