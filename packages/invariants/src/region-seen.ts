import type { Check } from "./check.ts";

/*
 * The agents' observations in their last complete scans, and in the one that has begun since, compared with
 * the records. What is being changed, or was when it was observed, is left out: an open job of the server, or
 * one that ended after the scan began.
 */
const lastCompleteScan = `region_vm m join region_inventory i on i.region = m.region and m.pass >= i.complete_pass`;
const isSettled = (organisation: string, server: string, lookedAt: string) =>
  `not exists (select 1 from job j where j.organisation_id = ${organisation} and j.resource_id = ${server}
     and ((j.status = 'queued' or j.status = 'running') or j.finished_at >= ${lookedAt}))`;

export const regionSeenChecks: readonly Check[] = [
  {
    invariant: "I1",
    check: "a server has one VM, as its region was seen",
    by: "region",
    sql: `select m.region as key, m.marker_server_id || ': VMs ' || string_agg(m.vmid::text, ', ' order by m.vmid) as subject
            from ${lastCompleteScan}
           where within(m.region) and m.state = 'seen' and m.marker_region = m.region group by m.region, m.marker_server_id having count(*) > 1`,
  },
  {
    invariant: "I2",
    check: "every VM of ours has its server, its number and its organisation, as its region was seen",
    by: "region",
    sql: `select m.region as key, 'VM ' || m.vmid || ' of ' || m.region || ' is marked for ' || m.marker_server_id as subject
            from ${lastCompleteScan}
            left join region_vmid v on v.region = m.region and v.vmid = m.vmid and v.state = 'used' and within(v.region)
            left join server s on s.id = v.server_id and s.status <> 'deleted'
           where within(m.region) and m.state = 'seen' and m.marker_region = m.region
             and (s.id is distinct from m.marker_server_id or s.organisation_id is distinct from m.marker_organisation_id)
             and ${isSettled("m.marker_organisation_id", "m.marker_server_id", "m.looked_at")}
             and (s.id is null or ${isSettled("s.organisation_id", "s.id", "m.looked_at")})`,
  },
  {
    invariant: "I3",
    check: "a server that is there has its VM, as its region was seen",
    by: "server",
    sql: `select s.id as key, s.id || ' (' || s.status || ') has no VM ' || v.vmid as subject
            from server s
            join region_vmid v on v.server_id = s.id and v.state = 'used'
            join region_inventory i on i.region = s.region
            left join region_vm m on m.region = s.region and m.vmid = v.vmid and m.pass >= i.complete_pass and m.state <> 'absent'
           where within(s.id) and within(v.server_id) and (s.status in ('running', 'stopped') or s.status = 'error' and s.status_code = 'vm_missing')
             and s.observed_generation > 0 and m.vmid is null and s.created_at < i.complete_began_at
             and ${isSettled("s.organisation_id", "s.id", "i.complete_began_at")}`,
  },
  {
    invariant: "I3",
    check: "a server's VM is as wanted, as its region was seen",
    sql: `select d.server_id || ', VM ' || d.vmid || ': ' || d.message as subject
            from drift d join server s on s.organisation_id = d.organisation_id and s.id = d.server_id
           where d.kind = 'changed' and d.sightings >= 2 and s.status in ('running', 'stopped')
             and ${isSettled("s.organisation_id", "s.id", "d.last_seen_at")}
             -- A VM that was taken over is as it came, until somebody resizes it.
             and not exists (select 1 from job a where a.resource_id = s.id and a.kind = 'ServerAdopt')`,
  },
  {
    invariant: "I13",
    check: "the VM of a server in its removal buffer is kept, as its region was seen",
    sql: `select s.id || ' has no VM ' || v.vmid || ' before ' || s.purge_at as subject
            from server s
            join region_vmid v on v.server_id = s.id and v.state = 'used'
            join region_inventory i on i.region = s.region
            left join region_vm m on m.region = s.region and m.vmid = v.vmid and m.pass >= i.complete_pass and m.state <> 'absent'
           where s.status = 'pending_deletion' and s.observed_generation > 0 and m.vmid is null
             and s.created_at < i.complete_began_at and ${isSettled("s.organisation_id", "s.id", "i.complete_began_at")}`,
  },
];
