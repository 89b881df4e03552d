import type { Schemas } from "@kule/contract/schemas";
import { plainAddress } from "@kule/rules/inventory/held-numbers";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";
import type { PassRow } from "./passes.ts";

export type Guest = Schemas["InventoryVm"];
type Report = Schemas["InventoryReport"];

/** One entry of a batch: a guest that exists, or a queried number that is free. */
export type Sighting = {
  readonly vmid: number;
  /** By Postgres' clock, when the observation began: never later than it really was. */
  readonly lookedAt: Date;
  readonly guest: Guest | null;
};

/**
 * The content of a batch, with its times converted to Postgres' clock: the scan began there at a known time,
 * and the agent counts from the answer that said so. However late the batch arrives, the times are those of
 * the observations.
 */
export function sightingsOf(report: Report, { began_at }: PassRow, now: Date): Sighting[] {
  const begun = began_at?.getTime() ?? now.getTime();
  const at = (afterMs: number) => new Date(Math.min(begun + afterMs, now.getTime()));
  const byVmid = new Map<number, Sighting>();
  for (const { vmid, seen_after_ms } of report.absent ?? [])
    byVmid.set(vmid, { vmid, lookedAt: at(seen_after_ms), guest: null });
  for (const guest of report.vms ?? [])
    byVmid.set(guest.vmid, { vmid: guest.vmid, lookedAt: at(guest.seen_after_ms), guest });
  return [...byVmid.values()].sort((one, other) => one.vmid - other.vmid);
}

/**
 * Numbers whose guests the agent may not see. They are not stored: as unknown numbers they are queried again.
 */
export function hiddenOf(report: Report, { began_at }: PassRow, now: Date): Sighting[] {
  const begun = began_at?.getTime() ?? now.getTime();
  return (report.hidden ?? []).map(({ vmid, seen_after_ms }) => ({
    vmid,
    lookedAt: new Date(Math.min(begun + seen_after_ms, now.getTime())),
    guest: null,
  }));
}

/** Stores what was seen, for the operators, for adoption and for the invariants. */
export async function keepGuests(
  tx: Tx,
  region: string,
  pass: number,
  sightings: readonly Sighting[],
): Promise<void> {
  if (sightings.length === 0) return;
  await tx
    .insertInto("region_vm")
    .values(
      sightings.map(({ vmid, lookedAt, guest }) => ({
        region,
        vmid,
        pass,
        looked_at: lookedAt,
        state: guest?.state ?? "absent",
        node: guest?.node ?? null,
        name: guest?.name ?? null,
        power: guest?.power ?? null,
        marker_server_id: guest?.marker?.server_id ?? null,
        marker_organisation_id: guest?.marker?.organisation_id ?? null,
        marker_region: guest?.marker?.region ?? null,
        facts: JSON.stringify(guest === null ? {} : factsOf(guest)),
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["region", "vmid"]).doUpdateSet((excluded) => {
        // A node that did not answer reports nothing new about its guests.
        const unlessUnanswered = (column: "name" | "power" | "facts" | "looked_at") =>
          sql`case when excluded.state = 'unanswered' then region_vm.${sql.ref(column)} else ${excluded.ref(`excluded.${column}`)} end`;
        const marker = (column: "marker_server_id" | "marker_organisation_id" | "marker_region") =>
          sql<
            string | null
          >`case when excluded.state = 'unanswered' then region_vm.${sql.ref(column)} else ${excluded.ref(`excluded.${column}`)} end`;
        return {
          pass: excluded.ref("excluded.pass"),
          state: excluded.ref("excluded.state"),
          node: excluded.ref("excluded.node"),
          looked_at: unlessUnanswered("looked_at") as never,
          name: unlessUnanswered("name") as never,
          power: unlessUnanswered("power") as never,
          facts: unlessUnanswered("facts") as never,
          marker_server_id: marker("marker_server_id"),
          marker_organisation_id: marker("marker_organisation_id"),
          marker_region: marker("marker_region"),
        };
      }),
    )
    .execute();
}

function factsOf(guest: Guest) {
  const { type, template, tags, lock, vcpu, memory_mb, disk_bytes, interfaces, firewall } = guest;
  return {
    type: type ?? "qemu",
    template: template ?? false,
    tags,
    lock,
    vcpu,
    memory_mb,
    disk_bytes,
    interfaces: interfaces?.map(({ position, mac, vlan, bridge, firewall }) => ({
      position,
      mac,
      vlan,
      bridge,
      firewall,
      addresses: addressesAt(guest, position),
    })),
    // False: the addresses that it may use were not read yet.
    has_addresses: firewall !== undefined,
  };
}

/** The addresses that the guest may use at the interface, as the region's firewall has them, and those that it was given. */
function addressesAt({ firewall, interfaces = [] }: Guest, position: number): string[] {
  const texts = [
    ...(firewall?.ipsets ?? [])
      .filter(({ name }) => name === `ipfilter-net${position}`)
      .flatMap(({ addresses }) => addresses),
    ...interfaces.filter((each) => each.position === position).flatMap(({ addresses = [] }) => addresses),
  ];
  return [...new Set(texts.flatMap((text) => plainAddress(text) ?? []))];
}

/** Postgres' clock. */
export async function databaseTime(tx: Tx): Promise<Date> {
  const { now } = await systemQuery(tx, "the time is nobody's")
    .selectNoFrom(sql<Date>`clock_timestamp()`.as("now"))
    .executeTakeFirstOrThrow();
  return now;
}
