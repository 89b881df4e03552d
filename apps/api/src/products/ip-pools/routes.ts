import { formatIp, parseIp } from "@kule/rules/public-ips/addresses";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { addIpPoolRange, checkAddIpPoolRange } from "./add-ip-pool-range.ts";
import { allocateIpPoolAddresses, checkAllocateIpPoolAddresses } from "./allocate-ip-pool-addresses.ts";
import { checkCreateIpPool, createIpPool } from "./create-ip-pool.ts";
import { deleteIpPool } from "./delete-ip-pool.ts";
import { removeIpPoolRange } from "./remove-ip-pool-range.ts";
import {
  findAllocation,
  findIpPool,
  findIpPoolRange,
  type IpPoolDetails,
  listAllocations,
  listIpPoolRanges,
  listIpPools,
  listShares,
} from "./store.ts";
import { checkUpdateIpPool, updateIpPool } from "./update-ip-pool.ts";
import { viewAllocation, viewIpPool, viewIpPoolRange } from "./view.ts";
import { type FoundAllocation, withdrawIpPoolAddress } from "./withdraw-ip-pool-address.ts";

export function mountIpPools(api: Api): void {
  operation(api, "listIpPools", {
    handle: async (request) => {
      const page = await listIpPools(request.db, request.query);
      return reply(200, { items: page.rows.map(viewIpPool), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createIpPool", { check: checkCreateIpPool, mutate: createIpPool });
  operation(api, "getIpPool", {
    find: poolOf,
    handle: async (_request, pool) => reply(200, viewIpPool(pool)),
  });
  operation(api, "updateIpPool", { find: poolOf, check: checkUpdateIpPool, mutate: updateIpPool });
  operation(api, "deleteIpPool", { find: poolOf, mutate: deleteIpPool });

  operation(api, "listIpPoolRanges", {
    find: poolOf,
    handle: async (request, pool) => {
      const page = await listIpPoolRanges(request.db, pool.id, request.query);
      return reply(200, { items: page.rows.map(viewIpPoolRange), next_cursor: page.nextCursor });
    },
  });
  operation(api, "addIpPoolRange", { find: poolOf, check: checkAddIpPoolRange, mutate: addIpPoolRange });
  operation(api, "removeIpPoolRange", {
    find: (request) =>
      findIpPoolRange(request.db, request.pathId("ip_pool_id", "pool"), request.pathId("range_id", "rng")),
    mutate: removeIpPoolRange,
  });

  operation(api, "getIpPoolUtilisation", {
    find: poolOf,
    handle: async (request, pool) =>
      reply(200, {
        pool_id: pool.id,
        addresses: { ...pool.addresses },
        organisations: await listShares(request.db, pool.id),
      }),
  });
  operation(api, "listIpPoolAllocations", {
    find: poolOf,
    handle: async (request, pool) => {
      const page = await listAllocations(request.db, pool.id, request.query);
      return reply(200, { items: page.rows.map(viewAllocation), next_cursor: page.nextCursor });
    },
  });
  operation(api, "allocateIpPoolAddresses", {
    find: poolOf,
    check: checkAllocateIpPoolAddresses,
    mutate: allocateIpPoolAddresses,
  });
  operation(api, "withdrawIpPoolAddress", { find: allocationOf, mutate: withdrawIpPoolAddress });
}

function poolOf(request: ApiRequest): Promise<IpPoolDetails | null> {
  return findIpPool(request.db, request.pathId("ip_pool_id", "pool"));
}

/** A text that is not an address reads like an address that is not allocated. */
async function allocationOf(request: ApiRequest): Promise<FoundAllocation | null> {
  const poolId = request.pathId("ip_pool_id", "pool");
  const address = parseIp(request.pathText("address"));
  const found = address === null ? null : await findAllocation(request.db, poolId, formatIp(address));
  return found === null ? null : { ...found, poolId };
}
