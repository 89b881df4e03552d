import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { recordUsage } from "../usage/index.ts";
import { usageOf } from "./allocation.ts";

type Server = { readonly id: string; readonly organisation_id: string; readonly region: string };

/**
 * Records public addresses that the VM of the server has already, as they were before a restore of the database: reserved
 * by its organisation, and attached. Of each version a server has one; another one, and one that is another's by now, stays
 * as it is.
 */
export async function takeOverPublicIps(
  tx: Tx,
  { id: serverId, organisation_id, region }: Server,
  addresses: readonly string[],
): Promise<void> {
  const taken = new Set<number>();
  for (const address of addresses) {
    const found = await tx
      .selectFrom("public_address")
      .innerJoin("ip_pool", "ip_pool.id", "public_address.pool_id")
      .select(["public_address.pool_id", "ip_pool.version"])
      .where("public_address.address", "=", address)
      .where("public_address.state", "in", ["free", "quarantined"])
      .where((is) =>
        is.or([
          is("public_address.allocated_to", "is", null),
          is("public_address.allocated_to", "=", organisation_id),
        ]),
      )
      .where("ip_pool.region", "=", region)
      .forUpdate("public_address")
      .executeTakeFirst();
    if (found === undefined || taken.has(found.version)) continue;
    taken.add(found.version);
    const id = newId("ip");
    await tx
      .insertInto("public_ip")
      .values({
        id,
        organisation_id,
        region,
        pool_id: found.pool_id,
        version: found.version,
        address,
        server_id: serverId,
        held_by: serverId,
        is_applied: true,
      })
      .execute();
    await tx
      .updateTable("public_address")
      .set({ state: "used", allocated_to: organisation_id, public_ip_id: id, free_after: null })
      .where("address", "=", sql<string>`${address}::inet`)
      .execute();
    recordUsage(tx, ["public_ip.allocated"], {
      ...usageOf({ id, organisation_id, region, address, labels: {} }),
      job: null,
      source: "request",
    });
  }
}
