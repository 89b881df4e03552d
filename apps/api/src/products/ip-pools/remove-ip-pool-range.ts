import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { addressesInUse } from "./conflicts.ts";
import { findHeldAddress, findIpPoolRange, type IpPoolRangeRow, lockIpPool } from "./store.ts";

export async function removeIpPoolRange(
  _request: ApiRequest<"removeIpPoolRange">,
  tx: Tx,
  { id, pool_id: poolId, first_address, last_address }: IpPoolRangeRow,
): Promise<Outcome> {
  const isThere = (await lockIpPool(tx, poolId)) !== null && (await findIpPoolRange(tx, poolId, id)) !== null;
  if (!isThere) throw new NotFound();
  const held = await findHeldAddress(tx, { poolId, rangeId: id });
  if (held !== null) throw addressesInUse("the range", held);
  await tx.deleteFrom("ip_pool_range").where("pool_id", "=", poolId).where("id", "=", id).execute();
  return {
    reply: noContent(),
    resource: id,
    details: { pool: poolId, start: first_address, end: last_address },
  };
}
