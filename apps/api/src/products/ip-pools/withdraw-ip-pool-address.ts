import { inUse } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { type AllocationRow, lockIpPool } from "./store.ts";

export type FoundAllocation = AllocationRow & { readonly poolId: string };

/** Returns the address to the pool. An address in quarantine stays in quarantine there. */
export async function withdrawIpPoolAddress(
  _request: ApiRequest<"withdrawIpPoolAddress">,
  tx: Tx,
  { poolId, address }: FoundAllocation,
): Promise<Outcome> {
  if ((await lockIpPool(tx, poolId)) === null) throw new NotFound();
  // Under its lock: a concurrent reservation runs before or after this.
  const row = await tx
    .selectFrom("public_address")
    .select(["state", "allocated_to", "public_ip_id"])
    .where("pool_id", "=", poolId)
    .where("address", "=", address)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined || row.allocated_to === null) throw new NotFound();
  if (row.state === "used")
    throw new Conflict(
      inUse("public_address_free", `the organisation has taken ${address}`, {
        resource: row.public_ip_id,
        fix: `the organisation releases it: DELETE /public-ips/${row.public_ip_id}`,
      }),
    );
  await tx
    .updateTable("public_address")
    .set({ allocated_to: null })
    .where("pool_id", "=", poolId)
    .where("address", "=", address)
    .execute();
  return { reply: noContent(), resource: poolId, details: { address, organisation: row.allocated_to } };
}
