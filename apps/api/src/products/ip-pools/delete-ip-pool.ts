import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { addressesInUse } from "./conflicts.ts";
import { findHeldAddress, type IpPoolDetails, lockIpPool } from "./store.ts";

/**
 * Deletes its ranges and their addresses with it. Under the pool's lock no address of it can be allocated
 * concurrently.
 */
export async function deleteIpPool(
  request: ApiRequest<"deleteIpPool">,
  tx: Tx,
  { id, name, region }: IpPoolDetails,
): Promise<Outcome> {
  const pool = await lockIpPool(tx, id);
  if (pool === null) throw new NotFound();
  request.checkGeneration(pool);
  const held = await findHeldAddress(tx, { poolId: id });
  if (held !== null) throw addressesInUse("the pool", held);
  await tx.deleteFrom("ip_pool").where("id", "=", id).execute();
  return { reply: noContent(), resource: id, details: { name, region } };
}
