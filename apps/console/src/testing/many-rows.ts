import { newId } from "@kule/api/platform/ids";
import type { SceneApi } from "./scene-api.ts";

/*
 * Rows for lists of several pages, which would take calls of the API many seconds to create. They are copies of what
 * the API has written, and the database checks them as it checks every row.
 */

/** Running servers with these names in a subnet; the rest is as the server `like` has it. */
export async function addServers(
  api: SceneApi,
  like: string,
  subnet: { readonly id: string; readonly first: string },
  names: readonly string[],
): Promise<void> {
  const copies = names.map((name, at) => ({
    id: newId("srv"),
    name,
    nic: newId("nic"),
    // Locally administered, and in none of the ranges that the API allocates.
    mac: `02:00:00:00:${hex(at >> 8)}:${hex(at & 255)}`,
    // Beyond the range of the region.
    vmid: 90_000 + at,
    at,
  }));
  await api.sql(
    `with given as (
       select original, change from server original, jsonb_array_elements($2::jsonb) change where original.id = $1
     ), servers as (
       insert into server
       select copy.* from given, jsonb_populate_record(original, ${newOf("change")}) copy
       returning id
     ), numbers as (
       insert into region_vmid (region, vmid, state, server_id)
       select (original).region, (change ->> 'vmid')::integer, 'used', change ->> 'id' from given
     ), nics as (
       insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
       select change ->> 'nic', (original).organisation_id, (original).region, change ->> 'id', $3,
              (change ->> 'mac')::macaddr from given
     )
     insert into address (subnet_id, address, organisation_id, state, nic_id)
     select $3, $4::inet + (change ->> 'at')::bigint, (original).organisation_id, 'used', change ->> 'nic' from given`,
    [like, JSON.stringify(copies), subnet.id, subnet.first],
  );
}

/** Networks without subnets; the rest is as the network `like` has it. */
export async function addNetworks(api: SceneApi, like: string, names: readonly string[]): Promise<void> {
  const copies = names.map((name) => ({ id: newId("net"), name }));
  await api.sql(
    `insert into network
     select copy.* from network original, jsonb_array_elements($2::jsonb) change,
            jsonb_populate_record(original, ${newOf("change")}) copy
      where original.id = $1`,
    [like, JSON.stringify(copies)],
  );
}

/** Reserves addresses that are allocated to the organisation: as many, the lowest first. */
export async function reserveAddresses(api: SceneApi, organisationId: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newId("ip"));
  await api.sql(
    `with chosen as (
       select stock.*, ($2::text[])[row_number() over (order by stock.address)] as id
         from (select a.address, a.pool_id, pool.region, pool.version from public_address a
                 join ip_pool pool on pool.id = a.pool_id
                where a.allocated_to = $1 and a.state = 'free' order by a.address limit $3) stock
     ), reserved as (
       insert into public_ip (id, organisation_id, region, pool_id, version, address)
       select id, $1, region, pool_id, version, address from chosen
     )
     update public_address a set state = 'used', public_ip_id = chosen.id from chosen where a.address = chosen.address`,
    [organisationId, ids, count],
  );
}

/** Differences like the one of this VM number, of as many other numbers. */
export async function addDrift(api: SceneApi, like: number, count: number): Promise<void> {
  const copies = Array.from({ length: count }, (_, at) => ({ id: newId("drf"), vmid: 90_000 + at }));
  await api.sql(
    `insert into drift
     select copy.* from drift original, jsonb_array_elements($2::jsonb) change,
            jsonb_populate_record(original, change) copy
      where original.vmid = $1`,
    [like, JSON.stringify(copies)],
  );
}

/** The changes of a copy, which is the newest of its list. */
const newOf = (change: string) => `${change} || jsonb_build_object('created_at', clock_timestamp())`;

const hex = (byte: number) => byte.toString(16).padStart(2, "0");
