import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { ServerRow } from "./store.ts";

/** How long a VM number is not used again: a late destroy of its former VM must never meet a successor. */
const tombstoneDays = 30;

/** Takes the region's lowest free VM number for the server; null when there is none. */
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
        .where("candidate.state", "=", "free")
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
 * Takes this very VM number, if no server has it and none had it lately. One in quarantine may be taken: a stranger's VM
 * is what it was put there for.
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
 * Lays the server's VM number to rest: as a tombstone for a time, or in quarantine until an operator has looked.
 *
 * @returns the number; null when the server had none
 */
export async function restVmid(
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

/** Gives a server back the number that was laid to rest: with no other one left, it cannot do without. */
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
 * Takes the server's interfaces away and keeps their addresses from everybody for a while (ARP caches). One that is
 * reserved stays so.
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
