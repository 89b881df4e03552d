import { addressInUse, subnetExhausted } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { send, sendAhead } from "../../platform/transaction.ts";
import { lockSubnet, type SubnetRow } from "./subnet-store.ts";

/*
 * An address has a row from its first use or reservation on; a released one stays as `quarantined` until its
 * quarantine is over and it is allocated again. So below the subnet's hint every address has a row, and the
 * lowest free one is the lower of two: a quarantined one whose quarantine is over, or the first gap from the
 * hint on. Both are index probes, whatever the size of the subnet: `kule_take_address` in the database finds the lower
 * one without a lock that other allocations would wait for. The primary key of `address` decides all the same.
 */

export type AddressRequest = {
  readonly organisationId: string;
  readonly subnetId: string;
  /** What gets it; its row must exist. */
  readonly holder:
    | { readonly nicId: string }
    | { readonly reservationId: string }
    | { readonly loadBalancerId: string };
  /** Undefined: the lowest free one. */
  readonly wanted: string | undefined;
};

/**
 * Allocates an address to an interface or a reservation. A reserved one is allocated only to an interface
 * that requests it by name. A request by name takes the subnet's row lock.
 *
 * @returns null when the subnet was deleted concurrently
 * @throws Conflict `subnet_exhausted` when none is free, `address_in_use` when the requested one is not
 */
export async function allocateAddress(tx: Tx, request: AddressRequest): Promise<string | null> {
  const { wanted } = request;
  return wanted === undefined ? takeLowest(tx, request) : takeNamed(tx, request, wanted);
}

async function takeLowest(tx: Tx, { organisationId, subnetId, holder }: AddressRequest) {
  const { nicId, reservationId } = idsOf(holder);
  const [row] = await send(
    tx,
    sql<{ address: string | null }>`
      select host(kule_take_address(${organisationId}, ${subnetId}, ${nicId}, ${reservationId})) as address`,
  );
  if (row !== undefined && row.address !== null) {
    if ("loadBalancerId" in holder)
      await keepFor(tx, { organisationId, subnetId, address: row.address, id: holder.loadBalancerId });
    return row.address;
  }
  // Without a lock: all that find the subnet full have a reference to it, and would wait for each other in a circle.
  const subnet = await tx
    .selectFrom("subnet")
    .select(["id", "network_id", "status"])
    .where("organisation_id", "=", organisationId)
    .where("id", "=", subnetId)
    .executeTakeFirst();
  if (subnet === undefined || subnet.status === "deleting") return null;
  throw new Conflict(subnetExhausted({ id: subnet.id, networkId: subnet.network_id }));
}

async function takeNamed(
  tx: Tx,
  { organisationId, subnetId, holder }: AddressRequest,
  wanted: string,
): Promise<string | null> {
  const subnet = await lockSubnet(tx, organisationId, subnetId);
  if (subnet === null || subnet.status === "deleting") return null;
  const { nicId, reservationId } = idsOf(holder);
  const state = nicId === null ? "reserved" : "used";
  const rows = await send(
    tx,
    sql<{ address: string }>`
    insert into address (subnet_id, organisation_id, address, state, nic_id, reservation_id)
    values (${subnetId}, ${organisationId}, ${wanted}::inet, ${state}, ${nicId}, ${reservationId})
    on conflict (subnet_id, address) do update
       set state = excluded.state, nic_id = excluded.nic_id, free_after = null, since = clock_timestamp(),
           reservation_id = coalesce(address.reservation_id, excluded.reservation_id)
     where address.organisation_id = ${organisationId}
       and (address.state = 'quarantined' and address.free_after <= clock_timestamp()
            or address.state = 'reserved' and address.reservation_id is not null)
       and (address.reservation_id is null or ${nicId !== null})
       and not exists (${stillForwardedTo(organisationId)})
    returning host(address) as address`,
  );
  if (rows.length === 0) throw await inUse(tx, subnet, wanted);
  if (wanted === subnet.lowest_free_hint)
    sendAhead(tx, sql`select kule_raise_address_hint(${organisationId}, ${subnetId})`);
  return wanted;
}

type Shared = {
  readonly organisationId: string;
  readonly subnetId: string;
  readonly address: string;
  readonly id: string;
};

/** The address was taken for nobody, which no transaction can commit: it is the load balancer's, whose servers share it. */
async function keepFor(tx: Tx, { organisationId, subnetId, address, id }: Shared): Promise<void> {
  await tx
    .updateTable("address")
    .set({ load_balancer_id: id })
    .where("organisation_id", "=", organisationId)
    .where("subnet_id", "=", subnetId)
    .where("address", "=", address)
    .execute();
}

function idsOf(holder: AddressRequest["holder"]) {
  if ("loadBalancerId" in holder) return { nicId: null, reservationId: null };
  return "nicId" in holder
    ? { nicId: holder.nicId, reservationId: null }
    : { nicId: null, reservationId: holder.reservationId };
}

/**
 * A port that the region's edge still forwards: traffic for it would reach the next holder of the address.
 */
const stillForwardedTo = (organisationId: string) => sql`
  select 1 from port_forward f
   where f.organisation_id = ${organisationId} and f.subnet_id = address.subnet_id
     and f.target_address = address.address`;

async function inUse(tx: Tx, subnet: SubnetRow, address: string): Promise<Conflict> {
  const { rows } = await sql<{ server_id: string | null; reservation_id: string | null }>`
    select n.server_id, a.reservation_id
      from address a
      left join nic n on n.organisation_id = a.organisation_id and n.id = a.nic_id
     where a.organisation_id = ${subnet.organisation_id} and a.subnet_id = ${subnet.id}
       and a.address = ${address}::inet`.execute(tx);
  const [holder] = rows;
  const taker = holder?.server_id ?? holder?.reservation_id ?? subnet.id;
  return new Conflict(addressInUse(address, taker));
}
