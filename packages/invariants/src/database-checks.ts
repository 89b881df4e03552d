import type { Invariant } from "./violation.ts";

type Check = { readonly invariant: Invariant; readonly check: string; readonly sql: string };

const isOpen = "status in ('queued', 'running')";
const openJobOf = (id: string, kinds: string) =>
  `exists (select 1 from job j where j.resource_id = ${id} and j.${isOpen} and j.kind in (${kinds}))`;
const isInTransition = "s.status in ('creating', 'starting', 'stopping', 'deleting')";

/**
 * Children and parents that must be of one organisation, and of one region where both have one. A constraint keeps
 * each of them; these look at the rows themselves, so that a lost constraint does not go unnoticed.
 */
export const ownershipPairs: readonly {
  readonly child: string;
  readonly column: string;
  readonly parent: string;
  readonly region: boolean;
}[] = [
  { child: "subnet", column: "network_id", parent: "network", region: true },
  { child: "nic", column: "server_id", parent: "server", region: true },
  { child: "nic", column: "subnet_id", parent: "subnet", region: true },
  { child: "address", column: "subnet_id", parent: "subnet", region: false },
  { child: "address", column: "nic_id", parent: "nic", region: false },
  { child: "server_secret", column: "server_id", parent: "server", region: false },
  { child: "job_step", column: "job_id", parent: "job", region: false },
  { child: "usage_event", column: "job_id", parent: "job", region: true },
  // No constraint can refer to one of several tables, so only this looks at it.
  { child: "job", column: "resource_id", parent: "server", region: true },
];

/** Each query answers one text column `subject`; every row is a violation. */
export const databaseChecks: readonly Check[] = [
  {
    invariant: "I3",
    check: "a live server has exactly one VM number, one primary interface and one address",
    sql: `select s.id || ' has ' || v.n || ' VMIDs, ' || n.n || ' interfaces, ' || a.n || ' addresses' as subject
            from server s,
                 lateral (select count(*) n from region_vmid v
                           where v.server_id = s.id and v.region = s.region and v.state = 'used') v,
                 lateral (select count(*) n from nic where nic.server_id = s.id and nic.position = 0) n,
                 lateral (select count(*) n from nic join address on address.nic_id = nic.id
                           where nic.server_id = s.id and nic.position = 0 and address.state = 'used') a
           where s.status <> 'deleted' and (v.n, n.n, a.n) <> (1, 1, 1)`,
  },
  {
    invariant: "I4",
    check: "no address, VM number or interface of a server that is gone",
    sql: `select 'address ' || host(a.address) || ' of ' || coalesce(s.id, 'nobody') as subject
            from address a left join nic n on n.id = a.nic_id left join server s on s.id = n.server_id
           where a.state = 'used' and (s.id is null or s.status = 'deleted')
          union all
          select 'VMID ' || v.vmid || ' of ' || v.server_id from region_vmid v left join server s on s.id = v.server_id
           where v.state = 'used' and (s.id is null or s.status = 'deleted' or s.region <> v.region)
          union all
          select 'interface ' || n.id from nic n join server s on s.id = n.server_id where s.status = 'deleted'`,
  },
  {
    invariant: "I4",
    check: "every subnet has one VLAN, of its region",
    sql: `select u.id || ' has ' || count(v.vlan) || ' VLANs' as subject
            from subnet u left join region_vlan v on v.subnet_id = u.id and v.region = u.region
           group by u.id having count(v.vlan) <> 1
          union all
          select 'VLAN ' || v.vlan || ' of ' || v.subnet_id from region_vlan v left join subnet u on u.id = v.subnet_id
           where v.subnet_id is not null and (u.id is null or u.region <> v.region)`,
  },
  {
    invariant: "I4",
    check: "addresses and VM numbers are inside of what they come from",
    sql: `select host(a.address) || ' is not in ' || u.cidr as subject from address a join subnet u on u.id = a.subnet_id
           where not a.address <<= u.cidr
          union all
          select 'VMID ' || v.vmid from region_vmid v join region r on r.slug = v.region
           where v.state = 'used' and not v.vmid between r.vmid_first and r.vmid_last`,
  },
  {
    invariant: "I5",
    check: "an open job has its resource",
    sql: `select j.id || ' for ' || j.resource_id as subject from job j left join server s on s.id = j.resource_id
           where j.${isOpen} and j.resource_type = 'server' and (s.id is null or s.status = 'deleted')`,
  },
  {
    invariant: "I5",
    check: "a server on its way has the job that takes it there",
    sql: `select s.id || ' is ' || s.status as subject from server s
           where (s.status = 'creating' and not ${openJobOf("s.id", "'ServerCreate'")})
              or (s.status in ('starting', 'stopping') and not ${openJobOf("s.id", "'ServerRestore', 'ServerStop'")})
              or (s.status = 'deleting' and not ${openJobOf("s.id", "'ServerDestroy'")}
                  and not exists (select 1 from job j where j.resource_id = s.id and j.kind = 'ServerDestroy' and j.status = 'failed'))`,
  },
  {
    invariant: "I5",
    check: "an open job is in the queue, and nothing else is",
    sql: `select 'not queued: ' || j.id as subject from job j
           where j.${isOpen} and not exists (
             select 1 from graphile_worker._private_jobs q join graphile_worker._private_tasks t on t.id = q.task_id
              where q.key = j.id and t.identifier = 'region:' || j.region)
          union all
          select 'queued though ended: ' || q.key from graphile_worker._private_jobs q
            join graphile_worker._private_tasks t on t.id = q.task_id
           where t.identifier like 'region:%' and not exists (select 1 from job j where j.id = q.key and j.${isOpen})`,
  },
  {
    invariant: "I5",
    check: "a server that is marked for removal knows when",
    sql: `select id as subject from server where status = 'pending_deletion' and purge_at is null`,
  },
  {
    invariant: "I6",
    check: "no job is held by a lease that passed long ago",
    sql: `select id as subject from job where status = 'running' and lease_until < clock_timestamp() - interval '3 minutes'`,
  },
  {
    invariant: "I7",
    check: "no step was accepted from a former holder",
    sql: `select st.job_id || ' epoch ' || st.epoch as subject from job_step st join job j on j.id = st.job_id
           where st.epoch > j.epoch
          union
          select old.job_id || ' epoch ' || old.epoch || ' after ' || new.epoch from job_step old
            join job_step new on new.job_id = old.job_id and new.epoch > old.epoch
           where old.started_at > new.started_at`,
  },
  {
    invariant: "I7",
    check: "a job that ran has been claimed, and every claim counts",
    sql: `select id as subject from job where status = 'running' and (epoch = 0 or attempt = 0 or attempt > epoch)`,
  },
  {
    invariant: "I9",
    check: "each ended job has an audit row for its end",
    sql: `select j.id || ' has ' || count(a.id) as subject
            from job j left join audit a on a.resource = j.id and a.action = 'job.end'
           where j.status in ('succeeded', 'failed', 'cancelled')
           group by j.id having count(a.id) < 1`,
  },
  {
    invariant: "I9",
    check: "usage opens and closes in turn, and its numbers have no gap",
    sql: `select resource_id || ' ' || kind || ' twice, at ' || seq as subject from (
            select resource_id, kind, seq, lag(kind) over (
                     partition by resource_id, kind in ('server.started', 'server.stopped') order by seq) as before
              from usage_event
             where kind in ('server.started', 'server.stopped', 'disk.allocated', 'disk.released')) turns
           where before = kind
          union all
          select o.id || ' counts ' || o.usage_seq || ', has ' || count(u.seq) from organisation o
            left join usage_event u on u.organisation_id = o.id group by o.id
          having count(u.seq) <> o.usage_seq or coalesce(max(u.seq), 0) <> o.usage_seq`,
  },
  {
    invariant: "I10",
    check: "nothing that must be unique is there twice",
    sql: `select 'VMID ' || region || '/' || vmid as subject from region_vmid where state = 'used'
           group by region, vmid having count(*) > 1
          union all
          select 'VLAN ' || region || '/' || vlan from region_vlan where subnet_id is not null
           group by region, vlan having count(*) > 1
          union all
          select 'address ' || subnet_id || '/' || host(address) from address
           group by subnet_id, address having count(*) > 1
          union all
          select 'MAC ' || region || '/' || mac from nic group by region, mac having count(*) > 1
          union all
          select 'name ' || organisation_id || '/' || region || '/' || name from server where status <> 'deleted'
           group by organisation_id, region, name having count(*) > 1
          union all
          select 'running jobs of ' || resource_id from job where status = 'running'
           group by resource_id having count(*) > 1
          union all
          select 'queued jobs of ' || resource_id from job where status = 'queued'
           group by resource_id having count(*) > 1
          union all
          select one.id || ' overlaps ' || other.id from subnet one join subnet other
              on one.network_id = other.network_id and one.id < other.id and one.cidr && other.cidr`,
  },
  ...ownershipPairs.map(
    ({ child, column, parent, region }): Check => ({
      invariant: "I11",
      check: `${child}.${column} stays in its organisation`,
      sql: `select '${child} ' || c.${column} as subject from ${child} c join ${parent} p on p.id = c.${column}
             where c.organisation_id <> p.organisation_id ${region ? "or c.region <> p.region" : ""}`,
    }),
  ),
  {
    invariant: "I13",
    check: "no destroy job before its time, none for a server that was kept",
    sql: `select j.id || ' for ' || s.id || ' (' || s.status || ')' as subject from job j join server s on s.id = j.resource_id
           where j.kind = 'ServerDestroy' and j.status <> 'cancelled'
             and (s.status not in ('deleting', 'deleted') or s.purge_at is null or s.purge_at > j.created_at)`,
  },
  {
    invariant: "secret-kept",
    check: "no password outlives the job that sets it",
    sql: `select x.server_id as subject from server_secret x join server s on s.id = x.server_id
           where s.status in ('running', 'stopped', 'deleted') and not ${openJobOf("s.id", "'ServerCreate'")}`,
  },
  {
    invariant: "I4",
    check: "nothing is given out to a server on its way that no job brings there",
    sql: `select host(a.address) || ' of ' || s.id as subject from address a join nic n on n.id = a.nic_id
            join server s on s.id = n.server_id
           where a.state = 'used' and ${isInTransition}
             and not exists (select 1 from job j where j.resource_id = s.id and (j.${isOpen} or j.status = 'failed'))`,
  },
];
