import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import { narrowedPage, page } from "./fake-page.ts";
import { fakeId } from "./fake-records.ts";
import type { FakePool, FakeState } from "./fake-state.ts";

const now = () => new Date().toISOString();

/** Pools with ranges of 64 addresses each, whatever is requested; the first two of a range are reserved. */
export function registerIpPools(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.ipPools.find(({ pool }) => pool.id === id);
  const seen = (pool: FakePool) => ({ ...pool.pool, addresses: addressesOf(pool) });

  operation("get", "/ip-pools", "listIpPools", ({ query, fail }) =>
    narrowedPage(state.ipPools.map(seen), query, fail),
  );
  operation<Schemas["IpPoolCreate"]>("post", "/ip-pools", "createIpPool", ({ body, fail }) => {
    if (state.ipPools.some(({ pool }) => pool.name === body.name))
      return fail(409, "name_taken", `a pool named ${body.name} exists`);
    const pool: FakePool = {
      pool: {
        id: fakeId("pool"),
        region: body.region,
        name: body.name,
        description: body.description ?? "",
        version: body.gateway.includes(":") ? 6 : 4,
        gateway: body.gateway,
        prefix_length: body.prefix_length,
        vlan: body.vlan ?? null,
        addresses: { total: 0, reserved: 0, free: 0, allocated: 0, taken: 0, quarantined: 0 },
        generation: 1,
        created_at: now(),
        updated_at: now(),
      },
      ranges: [],
      allocations: [],
    };
    state.ipPools.push(pool);
    return { status: 201, body: seen(pool) };
  });
  operation("get", "/ip-pools/:id", "getIpPool", ({ params, fail }) => {
    const pool = find(params.id);
    return pool === undefined ? fail(404, "not_found", "no such pool") : { status: 200, body: seen(pool) };
  });
  operation<Schemas["IpPoolUpdate"]>("patch", "/ip-pools/:id", "updateIpPool", ({ params, body, fail }) => {
    const pool = find(params.id);
    if (pool === undefined) return fail(404, "not_found", "no such pool");
    Object.assign(pool.pool, body);
    return { status: 200, body: seen(pool) };
  });
  operation("delete", "/ip-pools/:id", "deleteIpPool", ({ params, fail }) => {
    const pool = find(params.id);
    if (pool === undefined) return fail(404, "not_found", "no such pool");
    if (pool.allocations.length > 0) return fail(409, "in_use", "the pool cannot go: it is allocated");
    state.ipPools.splice(state.ipPools.indexOf(pool), 1);
    return { status: 204 };
  });
  operation("get", "/ip-pools/:id/ranges", "listIpPoolRanges", ({ params, query }) =>
    page(find(params.id)?.ranges ?? [], query),
  );
  operation<Schemas["IpPoolRangeAdd"]>(
    "post",
    "/ip-pools/:id/ranges",
    "addIpPoolRange",
    ({ params, body, fail }) => {
      const pool = find(params.id);
      if (pool === undefined) return fail(404, "not_found", "no such pool");
      const start = body.start ?? body.cidr?.split("/")[0] ?? "";
      if (pool.ranges.some((range) => range.start === start))
        return fail(409, "range_overlap", `the range overlaps ${start}, which is in a pool already`);
      const range = {
        id: fakeId("rng"),
        pool_id: pool.pool.id,
        start,
        end: body.end ?? start.replace(/\d+$/, "63"),
        size: 64,
        created_at: now(),
      };
      pool.ranges.push(range);
      return { status: 201, body: range };
    },
  );
  operation("delete", "/ip-pools/:id/ranges/:range", "removeIpPoolRange", ({ params, fail }) => {
    const pool = find(params.id);
    if (pool === undefined) return fail(404, "not_found", "no such pool");
    const [held] = pool.allocations;
    if (held !== undefined) return fail(409, "in_use", `the range cannot go: ${held.address} is allocated`);
    pool.ranges.splice(0, pool.ranges.length, ...pool.ranges.filter(({ id }) => id !== params.range));
    return { status: 204 };
  });
  operation("get", "/ip-pools/:id/utilisation", "getIpPoolUtilisation", ({ params, fail }) => {
    const pool = find(params.id);
    if (pool === undefined) return fail(404, "not_found", "no such pool");
    const organisations = new Map(
      pool.allocations.map(({ organisation }) => [organisation.id, organisation]),
    );
    const body: Schemas["IpPoolUtilisation"] = {
      pool_id: pool.pool.id,
      addresses: addressesOf(pool),
      organisations: [...organisations.values()].map((organisation) => {
        const own = pool.allocations.filter((each) => each.organisation.id === organisation.id);
        const taken = own.filter(({ state }) => state === "taken").length;
        return { organisation, allocated: own.length, taken, attached: 0 };
      }),
    };
    return { status: 200, body };
  });
  operation("get", "/ip-pools/:id/allocations", "listIpPoolAllocations", ({ params, query }) =>
    page(find(params.id)?.allocations ?? [], query),
  );
  operation<Schemas["IpPoolAllocate"]>(
    "post",
    "/ip-pools/:id/allocations",
    "allocateIpPoolAddresses",
    ({ params, body, fail }) => {
      const pool = find(params.id);
      const organisation = state.organisations.find(({ id }) => id === body.organisation_id);
      if (pool === undefined || organisation === undefined) return fail(404, "not_found", "no such thing");
      const { free } = addressesOf(pool);
      const count = body.addresses?.length ?? body.count ?? 0;
      if (count > free)
        return fail(
          409,
          "no_public_ip_available",
          `pool ${pool.pool.name} has ${free} free addresses, not ${count}`,
        );
      const next = pool.allocations.length + 2;
      const addresses =
        body.addresses ?? Array.from({ length: count }, (_, index) => `203.0.113.${next + index}`);
      const ref = { id: organisation.id, slug: organisation.slug, name: organisation.name };
      for (const address of addresses)
        pool.allocations.push({
          address,
          organisation: ref,
          state: "free",
          public_ip_id: null,
          free_after: null,
        });
      return { status: 201, body: { pool_id: pool.pool.id, organisation: ref, addresses } };
    },
  );
  operation("delete", "/ip-pools/:id/allocations/:address", "withdrawIpPoolAddress", ({ params, fail }) => {
    const pool = find(params.id);
    const index = pool?.allocations.findIndex(({ address }) => address === params.address) ?? -1;
    if (pool === undefined || index < 0) return fail(404, "not_found", "no such address");
    if (pool.allocations[index]?.state === "taken")
      return fail(409, "in_use", `the organisation has taken ${params.address}`);
    pool.allocations.splice(index, 1);
    return { status: 204 };
  });
}

function addressesOf({ ranges, allocations }: FakePool): Schemas["IpPoolAddresses"] {
  const total = ranges.length * 64;
  const reserved = ranges.length * 2;
  const count = (state: Schemas["IpPoolAllocation"]["state"]) =>
    allocations.filter((allocation) => allocation.state === state).length;
  return {
    total,
    reserved,
    free: total - reserved - allocations.length,
    allocated: count("free"),
    taken: count("taken"),
    quarantined: count("quarantined"),
  };
}
