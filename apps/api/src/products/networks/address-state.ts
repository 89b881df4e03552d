import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";

/**
 * The state of the address `a` in the API; null when it is free. One whose quarantine is over is not free
 * while a port is still forwarded to it.
 */
export const addressState = sql<Schemas["AddressState"] | null>`case
  when a.state = 'used' or a.load_balancer_id is not null then 'used'
  when a.state = 'quarantined' and (a.free_after > clock_timestamp() or exists (
    select 1 from port_forward f where f.organisation_id = a.organisation_id and f.subnet_id = a.subnet_id
       and f.target_address = a.address)) then 'quarantined'
  when a.reservation_id is not null then 'reserved'
  when a.state = 'reserved' then 'platform' end`;

export type AddressUse = {
  readonly used: number;
  readonly quarantined: number;
  readonly reserved: number;
};

/** How many rows of `a` are in each state. */
export const countStates = sql`json_build_object(
  'used', count(*) filter (where a.state = 'used'),
  'quarantined', count(*) filter (where a.state = 'quarantined'),
  'reserved', count(*) filter (where a.state = 'reserved'))`;
