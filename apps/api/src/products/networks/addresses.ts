import { addressInUse, subnetExhausted } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import { lockSubnet, type SubnetRow } from "./subnet-store.ts";

/*
 * An address has a row from its first use or reservation on; a released one stays as `quarantined` until its
 * quarantine is over and it is allocated again. So below the subnet's hint every address has a row, and the
 * lowest free one is the lower of two: a quarantined one whose quarantine is over, or the first gap from the
 * hint on. Both are index probes, whatever the size of the subnet. The subnet's row lock keeps both true
 * until the transaction ends; the primary key of `address` decides all the same.
 */

export type AddressRequest = {
  readonly organisationId: string;
  readonly subnetId: string;
  /** What gets it; its row must exist. */
  readonly holder: { readonly nicId: string } | { readonly reservationId: string };
  /** Undefined: the lowest free one. */
  readonly wanted: string | undefined;
};

/**
 * Allocates an address to an interface or a reservation. A reserved one is allocated only to an interface
 * that requests it by name. Takes the subnet's row lock, which concurrent allocations queue for: call it as
 * late in the transaction as possible.
 *
 * @throws Conflict `subnet_exhausted` when none is free, `address_in_use` when the requested one is not
 */
export async function allocateAddress(tx: Tx, wish: AddressRequest): Promise<string> {
  const { organisationId, subnetId, holder, wanted } = wish;
  const subnet = await lockSubnet(tx, organisationId, subnetId);
  if (subnet === null) throw new NotFound();
  const address = wanted ?? (await findFreeAddress(tx, subnet));
  if (address === null) throw exhausted(subnet);
  const [state, nicId, reservationId] =
    "nicId" in holder ? ["used", holder.nicId, null] : ["reserved", null, holder.reservationId];
  const isNamed = nicId !== null && wanted !== undefined;
  const { rows } = await sql<{ address: string }>`
    insert into address (subnet_id, organisation_id, address, state, nic_id, reservation_id)
    values (${subnetId}, ${organisationId}, ${address}::inet, ${state}, ${nicId}, ${reservationId})
    on conflict (subnet_id, address) do update
       set state = excluded.state, nic_id = excluded.nic_id, free_after = null, since = clock_timestamp(),
           reservation_id = coalesce(address.reservation_id, excluded.reservation_id)
     where address.organisation_id = ${organisationId}
       and (address.state = 'quarantined' and address.free_after <= clock_timestamp()
            or address.state = 'reserved' and address.reservation_id is not null)
       and (address.reservation_id is null or ${isNamed})
       and not exists (${stillForwardedTo(organisationId)})
    returning host(address) as address`.execute(tx);
  if (rows.length === 0) throw await inUse(tx, subnet, address);
  // Everything from the hint up to the gap that was found has a row now.
  const closesGap =
    wanted === undefined
      ? numeric(address) >= numeric(subnet.lowest_free_hint)
      : wanted === subnet.lowest_free_hint;
  if (closesGap) await moveHint(tx, subnet, address);
  return address;
}

/**
 * A port that the region's edge still forwards: traffic for it would reach the next holder of the address.
 */
const stillForwardedTo = (organisationId: string) => sql`
  select 1 from port_forward f
   where f.organisation_id = ${organisationId} and f.subnet_id = address.subnet_id
     and f.target_address = address.address`;

async function moveHint(tx: Tx, subnet: SubnetRow, taken: string): Promise<void> {
  await tx
    .updateTable("subnet")
    .set({ lowest_free_hint: sql<string>`${taken}::inet + 1` })
    .where("organisation_id", "=", subnet.organisation_id)
    .where("id", "=", subnet.id)
    .execute();
}

/** The lowest address a server could have now; null when there is none. */
async function findFreeAddress(tx: Tx, subnet: SubnetRow): Promise<string | null> {
  const { rows } = await sql<{ rested: string | null; gap: string | null }>`
    select
      (select host(min(a.address)) from address a
        where a.organisation_id = ${subnet.organisation_id} and a.subnet_id = ${subnet.id}
          and a.state = 'quarantined' and a.free_after <= clock_timestamp() and a.reservation_id is null
          and not exists (select 1 from port_forward f where f.organisation_id = a.organisation_id
                             and f.subnet_id = a.subnet_id and f.target_address = a.address)) as rested,
      ${gapFromHint(subnet)} as gap`.execute(tx);
  const { rested = null, gap = null } = rows[0] ?? {};
  if (rested === null || gap === null) return rested ?? gap;
  return numeric(rested) < numeric(gap) ? rested : gap;
}

/** The first address from the hint on that has no row; the broadcast address has one, so the search ends there. */
function gapFromHint(subnet: SubnetRow) {
  const { organisation_id, id, lowest_free_hint: hint, cidr } = subnet;
  return sql<string | null>`(
    select host(found.address) from (
      (select ${hint}::inet as address
        where not exists (select 1 from address a where a.organisation_id = ${organisation_id}
                             and a.subnet_id = ${id} and a.address = ${hint}::inet))
      union all
      (select a.address + 1 from address a
        where a.organisation_id = ${organisation_id} and a.subnet_id = ${id} and a.address >= ${hint}::inet
          and not exists (select 1 from address b where b.organisation_id = ${organisation_id}
                             and b.subnet_id = ${id} and b.address = a.address + 1)
        order by a.address limit 1)
      limit 1) found
    where found.address << ${cidr}::inet)`;
}

function exhausted(subnet: SubnetRow): Conflict {
  return new Conflict(subnetExhausted({ id: subnet.id, networkId: subnet.network_id }));
}

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

function numeric(address: string): number {
  return address.split(".").reduce((value, octet) => value * 256 + Number(octet), 0);
}
