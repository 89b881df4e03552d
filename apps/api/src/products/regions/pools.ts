import { inUse } from "@kule/rules/refusals";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";

/*
 * What a region can allocate is in tables with a row for each number, from its registration on. An allocation
 * is an update that skips locked rows, so the database, not a calculation, decides what is free.
 */

export type NumberRange = { readonly first: number; readonly last: number };

/** Wide enough for any cluster, and small enough to be written in one statement. */
export const maxVmids = 100_000;

/**
 * Sets the region's VM numbers to exactly this range.
 *
 * @throws Conflict `in_use` when a number outside of it is used, or in quarantine after its server was
 * deleted
 */
export async function setVmidPool(tx: Database | Tx, region: string, range: NumberRange): Promise<void> {
  await sql`
    insert into region_vmid (region, vmid)
    select ${region}::text, generate_series(${range.first}::integer, ${range.last}::integer)
    on conflict do nothing`.execute(tx);
  await sql`
    delete from region_vmid
     where region = ${region} and not vmid between ${range.first}::integer and ${range.last}::integer
       and (state = 'free' or state = 'tombstone' and free_after <= clock_timestamp())`.execute(tx);
  // Queried after the delete has waited for concurrent allocations.
  const left = await tx
    .selectFrom("region_vmid")
    .select(["vmid", "state", "server_id"])
    .where("region", "=", region)
    .where(sql<boolean>`not vmid between ${range.first}::integer and ${range.last}::integer`)
    .orderBy("vmid")
    .limit(1)
    .executeTakeFirst();
  if (left === undefined) return;
  throw outsideOfRange(
    "vmid",
    left.vmid,
    left.state === "used" ? "is used by a server" : "rests",
    left.server_id,
  );
}

/**
 * Sets the region's VLANs to exactly this range.
 *
 * @throws Conflict `in_use` when a VLAN outside of it belongs to a subnet
 */
export async function setVlanPool(tx: Database | Tx, region: string, range: NumberRange): Promise<void> {
  await sql`
    insert into region_vlan (region, vlan)
    select ${region}::text, generate_series(${range.first}::integer, ${range.last}::integer)
    on conflict do nothing`.execute(tx);
  await sql`
    delete from region_vlan
     where region = ${region} and not vlan between ${range.first}::integer and ${range.last}::integer
       and subnet_id is null`.execute(tx);
  const left = await systemQuery(tx, "a region's VLANs are of all organisations")
    .selectFrom("region_vlan")
    .select(["vlan", "subnet_id"])
    .where("region", "=", region)
    .where(sql<boolean>`not vlan between ${range.first}::integer and ${range.last}::integer`)
    .orderBy("vlan")
    .limit(1)
    .executeTakeFirst();
  if (left === undefined) return;
  throw outsideOfRange("vlan", left.vlan, "belongs to a subnet", left.subnet_id);
}

/**
 * Private networks in a public pool's VLAN would be in one segment with public addresses.
 *
 * @throws Conflict `in_use` when a public pool of the region has one of these VLANs
 */
export async function refusePublicVlans(tx: Tx, region: string, range: NumberRange): Promise<void> {
  const pool = await tx
    .selectFrom("ip_pool")
    .select(["id", "name", "vlan"])
    .where("region", "=", region)
    .where(sql<boolean>`vlan between ${range.first}::integer and ${range.last}::integer`)
    .orderBy("vlan")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (pool === undefined) return;
  throw new Conflict(
    inUse(
      "vlan_range_without_public_pools",
      `VLAN ${pool.vlan} is of the public pool ${pool.name}, and none of its addresses may be in a private network's segment`,
      { resource: pool.id, fix: "choose a range that leaves it out" },
    ),
  );
}

function outsideOfRange(
  kind: "vmid" | "vlan",
  number: number,
  why: string,
  resource: string | null,
): Conflict {
  const word = kind === "vmid" ? "VMID" : "VLAN";
  return new Conflict(
    inUse(`${kind}_range_covers_use`, `${word} ${number} is outside of the range and ${why}`, {
      resource,
      fix: "choose a range that holds it",
    }),
  );
}
