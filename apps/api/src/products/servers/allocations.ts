import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { ServerRow } from "./store.ts";

/** How long a VM number is not used again: a late destroy of its former VM must never meet a successor. */
const tombstoneDays = 30;

/** Allocates the region's lowest free VM number to the server; null when there is none. */
export async function takeVmid(tx: Tx, region: string, serverId: string): Promise<number | null> {
  const row = await tx
    .updateTable("region_vmid")
    .set({ state: "used", server_id: serverId, free_after: null })
    .where("region", "=", region)
    .where("vmid", "=", (free) =>
      free
        .selectFrom("region_vmid as candidate")
        .select("candidate.vmid")
        .where("candidate.region", "=", region)
        // A literal: a plan for any state could not use the index of the free ones.
        .where("candidate.state", "=", sql.lit("free"))
        .orderBy("candidate.vmid")
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returning("vmid")
    .executeTakeFirst();
  return row?.vmid ?? null;
}

/**
 * Allocates this VM number, if no server has it and none had it recently. A quarantined one may be allocated:
 * a foreign VM, such as the one to be imported, is the reason for a quarantine.
 */
export async function takeThisVmid(tx: Tx, region: string, vmid: number, serverId: string): Promise<boolean> {
  const row = await tx
    .updateTable("region_vmid")
    .set({ state: "used", server_id: serverId, free_after: null })
    .where("region", "=", region)
    .where("vmid", "=", vmid)
    .where("state", "in", ["free", "quarantined"])
    .returning("vmid")
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Takes the server's VM number out of use: as a tombstone for a time, or in quarantine until an operator has
 * checked it.
 *
 * @returns the number; null when the server had none
 */
export async function retireVmid(
  tx: Tx,
  server: ServerRow,
  as: "tombstone" | "quarantined",
): Promise<number | null> {
  const row = await tx
    .updateTable("region_vmid")
    .set({
      state: as,
      free_after:
        as === "tombstone" ? sql<Date>`clock_timestamp() + make_interval(days => ${tombstoneDays})` : null,
    })
    .where("region", "=", server.region)
    .where("server_id", "=", server.id)
    .where("state", "=", "used")
    .returning("vmid")
    .executeTakeFirst();
  return row?.vmid ?? null;
}

/** Gives a server back its quarantined number: it needs one, and no other is left. */
export async function useVmidAgain(tx: Tx, server: ServerRow, vmid: number): Promise<void> {
  await tx
    .updateTable("region_vmid")
    .set({ state: "used", free_after: null })
    .where("region", "=", server.region)
    .where("vmid", "=", vmid)
    .where("server_id", "=", server.id)
    .execute();
}

/**
 * Removes the server's interfaces and quarantines their addresses for a while (ARP caches). A reserved one
 * stays reserved.
 */
export async function releaseAddresses(tx: Tx, server: ServerRow, quarantineSeconds: number): Promise<void> {
  await tx
    .updateTable("address")
    .set({
      state: "quarantined",
      nic_id: null,
      free_after: sql<Date>`clock_timestamp() + make_interval(secs => ${quarantineSeconds})`,
      since: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("nic_id", "in", (nics) =>
      nics
        .selectFrom("nic")
        .select("nic.id")
        .where("nic.organisation_id", "=", server.organisation_id)
        .where("nic.server_id", "=", server.id),
    )
    .execute();
  await tx
    .deleteFrom("nic")
    .where("organisation_id", "=", server.organisation_id)
    .where("server_id", "=", server.id)
    .execute();
}
