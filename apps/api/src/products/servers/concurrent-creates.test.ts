import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

const publicKey =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

/** Every value that must be unique: how often there is a duplicate. */
const duplicates = `
  select 'address' as what, subnet_id || ' ' || address::text as which from address group by 1, 2 having count(*) > 1
  union all
  select 'vmid', region || ' ' || vmid from region_vmid where state = 'used' group by 1, 2 having count(*) > 1
  union all
  select 'mac', region || ' ' || mac::text from nic group by 1, 2 having count(*) > 1
  union all
  select 'name', organisation_id || ' ' || region || ' ' || name from server where deleted_at is null
   group by 1, 2 having count(*) > 1`;

/** Servers without all that belongs to one, and allocations without a server. */
const halves = `
  select s.id from server s
   where (select count(*) from nic n join address a on a.nic_id = n.id where n.server_id = s.id) <> 1
      or (select count(*) from region_vmid v where v.server_id = s.id and v.state = 'used') <> 1
      or (select count(*) from job j where j.resource_id = s.id and j.kind = 'ServerCreate') <> 1
  union all
  select v.server_id from region_vmid v where v.state = 'used' and not exists (select 1 from server s where s.id = v.server_id)
  union all
  select a.nic_id from address a where a.state = 'used' and not exists (select 1 from nic n where n.id = a.nic_id)`;

describe("50 creates of one name at the same time", () => {
  const race = async (owner = world.owned, name = "web-1") => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => owner.post("/servers", world.body({ name }))),
    );
    return answers.map((answer) => `${answer.status} ${answer.body.code ?? ""}`.trim());
  };

  test("create one server, and the others get name_taken", async () => {
    const answers = await race();
    expect(answers.filter((answer) => answer === "202")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "409 name_taken")).toHaveLength(49);
    expect(await world.rows(halves)).toEqual([]);
    expect(await world.rows("select count(*)::int as n from region_vmid where state = 'used'")).toEqual([
      { n: 1 },
    ]);
  });

  test("create one network `default` for an organisation that has none", async () => {
    const { id, owner } = await world.world.addOrganisation("herd");
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.post("/servers", world.body())));
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(202));
    expect(answers.filter((answer) => answer.body.created !== undefined)).toHaveLength(1);
    const networks = await world.rows("select name from network where organisation_id = $1", [id]);
    expect(networks).toEqual([{ name: "default" }]);
  });

  test("would create several without the unique index: the check before the insert does not prevent it", async () => {
    const scratch = await ServerWorld.open();
    try {
      await scratch.owner.query("drop index server_name");
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => scratch.owned.post("/servers", scratch.body({ name: "web-1" }))),
      );
      expect(answers.filter((answer) => answer.status === 202).length).toBeGreaterThan(1);
      expect((await scratch.rows(duplicates)).map((row) => row.what)).toEqual(["name"]);
    } finally {
      await scratch.close();
    }
  });
});

describe("2,000 creates by 32 clients", () => {
  test("share no address, VM number or MAC, and end in under a minute", { timeout: 120_000 }, async () => {
    const owner = (await world.world.addOrganisation("crowd")).owner;
    const { region } = await wideRegion(owner);
    const key = (await owner.post("/ssh-keys", { name: "k", public_key: publicKey })).body.id as string;
    const statuses = new Map<number, number>();
    let left = 2_000;
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        while (left > 0) {
          left -= 1;
          const { status } = await owner.post("/servers", world.body({ region, ssh_key_ids: [key] }));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`2,000 creates: ${seconds.toFixed(1)} s, ${Math.round(2_000 / seconds)} a second`);
    expect([...statuses]).toEqual([[202, 2_000]]);
    expect(await world.rows(duplicates)).toEqual([]);
    expect(await world.rows(halves)).toEqual([]);
    const [count] = await world.rows(
      "select count(*)::int as n, max(address) - min(address) as spread from address a join nic n on n.id = a.nic_id where n.region = $1",
      [region],
    );
    // The lowest free one each time: no gaps.
    expect(count).toEqual({ n: 2_000, spread: "1999" });
    expect(seconds).toBeLessThan(60);
  });

  test("would be seen to share an address if the database let them", async () => {
    const scratch = await ServerWorld.open();
    try {
      await scratch.create();
      await scratch.create();
      const copy = `
        insert into address (subnet_id, address, organisation_id, state, free_after)
        select subnet_id, address, organisation_id, 'quarantined', now() from address where state = 'used' limit 1`;
      await expect(scratch.owner.query(copy)).rejects.toMatchObject({ code: "23505" });
      expect(await scratch.rows(duplicates)).toEqual([]);
      await scratch.owner.query("alter table address drop constraint address_pkey");
      await scratch.owner.query(copy);
      expect((await scratch.rows(duplicates)).map((row) => row.what)).toEqual(["address"]);
    } finally {
      await scratch.close();
    }
  });

  async function wideRegion(owner: ServerWorld["owned"]) {
    await world.world.addRegion("wide1", { vmid_range: { first: 30_000, last: 32_999 } });
    const network = (await owner.post("/networks", { name: "wide", region: "wide1", cidr: "10.0.0.0/16" }))
      .body;
    await owner.post(`/networks/${network.network.id}/subnets`, {
      name: "app",
      tier: "app",
      cidr: "10.0.0.0/20",
    });
    return { region: "wide1" };
  }
});

describe("a subnet of five addresses", () => {
  test("gives five servers one each, and refuses the others as full", async () => {
    const owner = (await world.world.addOrganisation("small")).owner;
    const network = (await owner.post("/networks", { name: "small", region: world.region })).body.network;
    const cidr = network.cidr.replace("/16", "/29");
    const subnet = (await owner.post(`/networks/${network.id}/subnets`, { name: "s", tier: "app", cidr }))
      .body.subnet;
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => owner.post("/servers", world.body({ subnet_id: subnet.id }))),
    );
    const seen = answers.map((answer) => `${answer.status} ${answer.body.code ?? ""}`.trim()).sort();
    expect(seen).toEqual([...Array(5).fill("202"), ...Array(7).fill("409 subnet_exhausted")]);
    expect(await world.rows(halves)).toEqual([]);
  });
});

test("no two of all these transactions ever waited for each other", async () => {
  const [found] = await world.rows(
    "select deadlocks::int from pg_stat_database where datname = current_database()",
  );
  expect(found).toEqual({ deadlocks: 0 });
});
