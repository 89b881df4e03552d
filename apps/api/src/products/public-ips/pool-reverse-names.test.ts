import { reverseNameOf } from "@kule/rules/domains/reverse-pattern";
import { parseIp } from "@kule/rules/public-ips/addresses";
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let owner: pg.Pool;
let nets = 0;

beforeAll(async () => {
  world = await ApiWorld.open();
  await world.addRegion("ist1");
  acme = await world.addOrganisation("acme");
  owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 4 });
});
afterAll(async () => {
  await owner?.end();
  await world?.close();
});

/** A pool with addresses that acme may reserve. */
async function addPool(more: object = {}, count = 20) {
  nets += 1;
  const net = `100.64.${nets}`;
  const pool = await world.operator.post("/ip-pools", {
    region: "ist1",
    name: net,
    gateway: `${net}.1`,
    prefix_length: 24,
    ...more,
  });
  expect(pool.status).toBe(201);
  const isV6 = pool.body.version === 6;
  const path = `/ip-pools/${pool.body.id}`;
  const range = isV6 ? { cidr: "2001:db8::/120" } : { cidr: `${net}.0/24` };
  expect((await world.operator.post(`${path}/ranges`, range)).status).toBe(201);
  const given = await world.operator.post(`${path}/allocations`, { organisation_id: acme.id, count });
  return { path, net, id: pool.body.id as string, addresses: given.body.addresses as string[] };
}

async function reserve(address: string | undefined, ptr?: string) {
  const taken = await acme.owner.post("/public-ips", { region: "ist1", address, ...(ptr && { ptr }) });
  expect(taken.status).toBe(201);
  return taken.body as { id: string; reverse_name: string | null; ptr: string | null; ptr_status: string };
}

const ipOf = async (id: string) => (await acme.owner.get(`/public-ips/${id}`)).body;
const setPattern = (path: string, pattern: string | null) =>
  world.operator.patch(path, { reverse_name: pattern });
const tasks = async () =>
  (await owner.query("select from graphile_worker.jobs where task_identifier = 'serve_pointers'")).rowCount;
const forgetTasks = () =>
  owner.query("delete from graphile_worker._private_jobs where key = 'serve_pointers'");
const wantedOf = async (address: string) =>
  (await owner.query("select wanted, state from public_pointer where address = $1", [address])).rows[0];

describe("a pool's pattern", () => {
  test("names every public IP without a name of its own, from its reservation to its release", async () => {
    const { addresses } = await addPool({ reverse_name: "*.Static.Example.NET." });
    const [first = "", second = ""] = addresses;
    const name = `${first.replaceAll(".", "-")}.static.example.net`;
    await forgetTasks();
    const ip = await reserve(first);
    expect(ip).toMatchObject({ ptr: null, reverse_name: name, ptr_status: "pending" });
    expect(await tasks()).toBe(1);
    const own = await reserve(second, "mail.example.org");
    expect(own).toMatchObject({ ptr: "mail.example.org", reverse_name: "mail.example.org" });

    const patched = await acme.owner.patch(`/public-ips/${ip.id}`, { ptr: "web.example.org" });
    expect(patched.body).toMatchObject({ ptr: "web.example.org", reverse_name: "web.example.org" });
    const back = await acme.owner.patch(`/public-ips/${ip.id}`, { ptr: null });
    expect(back.body).toMatchObject({ ptr: null, reverse_name: name, ptr_status: "pending" });

    const list = (await acme.owner.get("/public-ips?limit=2")).body.items;
    expect(list.map((each: { reverse_name: string }) => each.reverse_name)).toEqual([
      "mail.example.org",
      name,
    ]);
    await forgetTasks();
    expect((await acme.owner.delete(`/public-ips/${ip.id}`)).status).toBe(204);
    expect(await wantedOf(first)).toEqual({ wanted: null, state: "pending" });
    expect(await tasks()).toBe(1);
  });

  test("of IPv6 has all eight groups of the address, so that each address has one name", async () => {
    const { addresses } = await addPool({
      gateway: "2001:db8::1",
      prefix_length: 64,
      reverse_name: "*.v6.example.net",
    });
    expect(addresses[0]).toBe("2001:db8::2");
    expect((await reserve("2001:db8::2")).reverse_name).toBe("2001-db8-0-0-0-0-0-2.v6.example.net");
  });

  test("that is changed is the name of all its public IPs at once, but of those with their own", async () => {
    const { path, addresses } = await addPool();
    const [first = "", second = "", third = ""] = addresses;
    const none = await reserve(first);
    expect(none).toMatchObject({ reverse_name: null, ptr_status: "none" });
    const own = await reserve(second, "mail.example.org");
    const elsewhere = await addPool();
    const other = await reserve(elsewhere.addresses[0]);
    await forgetTasks();

    const changed = await setPattern(path, "*.a.example.net");
    expect(changed).toMatchObject({ status: 200, body: { reverse_name: "*.a.example.net" } });
    expect(await tasks()).toBe(1);
    const dashed = first.replaceAll(".", "-");
    expect(await ipOf(none.id)).toMatchObject({
      ptr: null,
      reverse_name: `${dashed}.a.example.net`,
      ptr_status: "pending",
    });
    expect((await ipOf(own.id)).reverse_name).toBe("mail.example.org");
    expect((await ipOf(other.id)).reverse_name).toBeNull();
    expect(await wantedOf(third)).toBeUndefined();

    await setPattern(path, "*.b.example.net");
    expect((await ipOf(none.id)).reverse_name).toBe(`${dashed}.b.example.net`);
    const renamed = await world.operator.patch(path, { description: "first hall" });
    expect(renamed.body.reverse_name).toBe("*.b.example.net");
    await setPattern(path, null);
    expect(await ipOf(none.id)).toMatchObject({ reverse_name: null, ptr_status: "pending" });
    expect((await ipOf(own.id)).reverse_name).toBe("mail.example.org");
  });

  test("that is none is refused by the rule it breaks, with the way out, and nothing changes", async () => {
    const { path } = await addPool({ reverse_name: "*.a.example.net" });
    for (const [wrong, code, words] of [
      ["static.example.net", "invalid_format", "exactly one star"],
      ["a.*.example.net", "invalid_format", "exactly one star"],
      ["*.exa mple.net", "invalid_format", "is not a part of a name"],
      [`*.${"a".repeat(64)}.net`, "too_long", "at most 63"],
      [`*.${"abcde.".repeat(40)}net`, "too_long", "at most 237 characters behind the star"],
    ] as const) {
      const { status, body } = await setPattern(path, wrong);
      expect(status, wrong).toBe(422);
      expect(body.errors).toEqual([
        expect.objectContaining({ field: "reverse_name", code, message: expect.stringContaining(words) }),
      ]);
    }
    expect((await world.operator.get(path)).body).toMatchObject({
      reverse_name: "*.a.example.net",
      generation: 1,
    });
  });

  test("and reservations, names and releases at the same time end with the names of the last pattern", async () => {
    const { path, addresses } = await addPool({}, 60);
    const held = [];
    for (const address of addresses.slice(0, 20)) held.push(await reserve(address));
    for (let round = 0; round < 3; round += 1) {
      const changes = held
        .splice(0, 6)
        .flatMap(({ id }, index) => [
          index % 2 === 0
            ? acme.owner.delete(`/public-ips/${id}`)
            : acme.owner.patch(`/public-ips/${id}`, { ptr: `own-${index}.example.org` }),
        ]);
      const taken = addresses
        .slice(20 + round * 10, 30 + round * 10)
        .map((address) => acme.owner.post("/public-ips", { region: "ist1", address }));
      const answers = await Promise.all([
        ...changes,
        setPattern(path, `*.round-${round}.example.net`),
        ...taken,
      ]);
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
      const { rows } = await owner.query(
        `select host(i.address) as address, p.wanted from public_ip i join ip_pool o on o.id = i.pool_id
           left join public_pointer p on p.address = i.address
          where coalesce(i.ptr, kule_reverse_name(o.reverse_name, i.address)) is distinct from p.wanted
         union all
         select host(address), wanted from public_pointer p
          where wanted is not null and not exists (select from public_ip i where i.address = p.address)`,
      );
      expect(rows).toEqual([]);
    }
  });

  test("waits for a release that is not committed, whose address gets no name", async () => {
    const { path, addresses } = await addPool();
    const [address = ""] = addresses;
    const ip = await reserve(address);
    const release = await owner.connect();
    try {
      await release.query("begin");
      await release.query(
        "update public_address set state = 'quarantined', public_ip_id = null, free_after = now() where public_ip_id = $1",
        [ip.id],
      );
      await release.query("delete from public_ip where id = $1", [ip.id]);
      const changing = setPattern(path, "*.a.example.net");
      const waits = async () =>
        (await owner.query("select from pg_locks where locktype = 'advisory' and not granted")).rowCount;
      await expect.poll(waits, { timeout: 4_000 }).toBe(1);
      await release.query("commit");
      expect((await changing).status).toBe(200);
    } finally {
      release.release();
    }
    expect((await wantedOf(address))?.wanted ?? null).toBeNull();
  });

  test("lets reservations be made while others of the pool are not committed", async () => {
    const { addresses } = await addPool({ reverse_name: "*.a.example.net" });
    const [first = "", second = ""] = addresses;
    const open = await owner.connect();
    try {
      await open.query("begin");
      await open.query(
        `insert into public_ip (id, organisation_id, region, pool_id, version, address)
         select 'ip_open', allocated_to, 'ist1', pool_id, 4, address from public_address where address = $1`,
        [first],
      );
      expect((await reserve(second)).reverse_name).toBe(`${second.replaceAll(".", "-")}.a.example.net`);
    } finally {
      await open.query("rollback");
      open.release();
    }
  });
});

test("a pool with 65,536 public IPs has a new pattern with one statement, in the time of a request", {
  timeout: 60_000,
}, async () => {
  const pool = await world.operator.post("/ip-pools", {
    region: "ist1",
    name: "large",
    gateway: "10.9.0.1",
    prefix_length: 16,
  });
  const { id } = pool.body;
  await owner.query(`
    insert into ip_pool_range (id, pool_id, first_address, last_address)
      values ('rng_large', '${id}', '10.9.0.0', '10.9.255.255');
    insert into public_ip (id, organisation_id, region, pool_id, version, address)
      select 'ip_large' || n, '${acme.id}', 'ist1', '${id}', 4, '10.9.0.0'::inet + n from generate_series(0, 65535) n;
    insert into public_address (address, pool_id, range_id, state, allocated_to, public_ip_id)
      select address, pool_id, 'rng_large', 'used', organisation_id, id from public_ip where pool_id = '${id}'`);
  // The first pattern makes the rows, the second one changes them.
  for (const pattern of ["*.old.example.net", "*.new.example.net"]) {
    const changed = await setPattern(`/ip-pools/${id}`, pattern);
    expect(changed.status).toBe(200);
    const { rows } = await owner.query(
      `select count(*)::integer as count from public_pointer
        where wanted = kule_reverse_name($1, address) and address <<= '10.9.0.0/16' and state = 'pending'`,
      [pattern],
    );
    expect(rows).toEqual([{ count: 65_536 }]);
  }
});

test("the database names every address as the rules do", async () => {
  const texts = fc.sample(fc.oneof(fc.ipV4(), fc.ipV6()), { numRuns: 500, seed: 1 });
  const addresses = [...texts, "::", "::1", "2001:db8::", "0.0.0.0", "255.255.255.255"].flatMap((text) => {
    const address = parseIp(text);
    return address === null ? [] : [{ text, address }];
  });
  expect(addresses.length).toBeGreaterThan(400);
  const { rows } = await owner.query(
    "select kule_reverse_name('*.example.net', a::inet) as name from unnest($1::text[]) with ordinality t (a, n) order by n",
    [addresses.map(({ text }) => text)],
  );
  expect(rows.map(({ name }) => name)).toEqual(
    addresses.map(({ address }) => reverseNameOf("*.example.net", address)),
  );
});
