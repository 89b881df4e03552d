import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";

/** A cluster's list may lag behind what its nodes have just begun. */
const listLagSeconds = 30;

/**
 * Whether a complete scan of the region, begun well after that time, found no VM with the server's number and
 * none that is marked for it. False means that there may be one.
 */
export async function isNothingThere(
  tx: Tx,
  server: { readonly id: string; readonly region: string },
  since: Date,
): Promise<boolean> {
  const { rows } = await sql<{ nothing: boolean }>`
    select coalesce(i.complete_began_at > ${since}::timestamptz + make_interval(secs => ${listLagSeconds})
             and not exists (
               select 1 from region_vm m
                where m.region = i.region and m.pass >= i.complete_pass and m.state <> 'absent'
                  and (m.marker_server_id = ${server.id}
                       or m.vmid in (select v.vmid from region_vmid v
                                      where v.region = i.region and v.server_id = ${server.id}))), false) as nothing
      from region_inventory i where i.region = ${server.region}`.execute(
    systemQuery(tx, "what was seen in a region is of whoever's VM it is"),
  );
  return rows[0]?.nothing ?? false;
}
