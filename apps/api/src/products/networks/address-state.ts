import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";

const stateOfAddress = `case
  when a.state = 'used' or a.load_balancer_id is not null then 'used'
  when a.state = 'quarantined' and (a.free_after > clock_timestamp() or exists (
    select 1 from port_forward f where f.organisation_id = a.organisation_id and f.subnet_id = a.subnet_id
       and f.target_address = a.address)) then 'quarantined'
  when a.reservation_id is not null then 'reserved'
  when a.state = 'reserved' then 'platform' end`;

/**
 * The state of the address `a` in the API; null when it is free. One whose quarantine is over is not free
 * while a port is still forwarded to it.
 */
export const addressState = sql.raw<Schemas["AddressState"] | null>(stateOfAddress);

export type AddressUse = {
  readonly used: number;
  readonly quarantined: number;
  readonly reserved: number;
};

/**
 * How many addresses are in each state. Those of servers are counted by their interfaces, whose index is small, and not by a walk
 * through all addresses.
 *
 * @param isOfThem whether a row of the table is of the subnets that are counted
 */
export const addressUse = (isOfThem: (table: "nic" | "a") => string) =>
  sql.raw<AddressUse>(`(
  select json_build_object(
           'used', count(*) filter (where other.state = 'used') + (select count(*) from nic where ${isOfThem("nic")}),
           'quarantined', count(*) filter (where other.state = 'quarantined'),
           'reserved', count(*) filter (where other.state = 'reserved'))
    from (select ${stateOfAddress} as state from address a where ${isOfThem("a")} and a.state <> 'used') other)`);
