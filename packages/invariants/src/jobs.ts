import { type Check, isOpen, openJobOf } from "./check.ts";

/** A waiting job that an agent could have had for so long was passed over. */
const longestWait = "interval '15 minutes'";

/** Everything in transition has a job for it, and the reverse; leases and epochs are valid. */
export const jobChecks: readonly Check[] = [
  {
    invariant: "I5",
    check: "an open job has its resource",
    sql: `select j.id || ' for ' || j.resource_id as subject from job j
           where ${isOpen()} and not case j.resource_type
             when 'server' then exists (select 1 from server s where s.id = j.resource_id and s.status <> 'deleted')
             when 'network' then exists (select 1 from network n where n.id = j.resource_id)
             when 'subnet' then exists (select 1 from subnet u where u.id = j.resource_id)
             when 'domain' then exists (select 1 from domain d where d.id = j.resource_id)
             when 'certificate' then exists (select 1 from certificate c where c.id = j.resource_id)
             when 'load_balancer' then exists (select 1 from load_balancer b where b.id = j.resource_id)
             when 'public_ip' then exists (select 1 from public_ip p where p.id = j.resource_id)
             else false end`,
  },
  {
    invariant: "I5",
    check: "an open job has everything that its payload says",
    sql: `select j.id || ' has no ' || concat_ws(', ', case when v.vmid is null then 'VMID' end,
                   case when n.id is null then 'interface' end, case when a.address is null then 'address' end,
                   case when l.vlan is null then 'VLAN' end) as subject
            from job j
            left join region_vmid v on v.server_id = j.resource_id and v.region = j.region and v.state = 'used'
            left join nic n on n.server_id = j.resource_id and n.position = 0
            left join address a on a.nic_id = n.id and a.state = 'used'
            left join region_vlan l on l.subnet_id = n.subnet_id and l.region = j.region
           where ${isOpen()} and j.resource_type = 'server'
             and (v.vmid is null or n.id is null or a.address is null or l.vlan is null)`,
  },
  {
    invariant: "I5",
    check: "an open job is for a server in the state that the job ends",
    // A running job that was asked to stop may find any state: its server has changed.
    sql: `select j.id || ' (' || j.kind || ') of ' || s.id || ', which is ' || s.status as subject
            from job j join server s on s.id = j.resource_id
           where ${isOpen()} and not (j.status = 'running' and j.cancel_requested) and s.status <> 'deleted'
             and not case j.kind
               when 'ServerCreate' then s.status = 'creating' when 'ServerAdopt' then s.status = 'creating'
               when 'ServerRestore' then s.status in ('starting', 'stopped')
               when 'ServerStop' then s.status = 'pending_deletion' or s.status = 'deleting' and j.status = 'running'
               when 'ServerDestroy' then s.status = 'deleting'
               when 'ServerPower' then s.status in ('starting', 'stopping', 'rebooting')
               when 'ServerResize' then s.status = 'resizing'
               when 'ServerRebuild' then s.status = 'rebuilding'
               when 'ServerPasswordReset' then s.status in ('running', 'stopped')
               when 'ServerUpdate' then s.status in ('running', 'stopped')
               when 'FirewallApply' then s.status in ('running', 'stopped')
               when 'ServerReconcile' then s.status in ('running', 'stopped', 'error')
               else true end`,
  },
  {
    invariant: "I5",
    check: "a server in transition has its job",
    sql: `select s.id || ' is ' || s.status as subject from server s
           where s.status in ('creating', 'starting', 'stopping', 'rebooting', 'resizing', 'rebuilding', 'deleting')
             and not case s.status
             when 'creating' then ${openJobOf("s.id", "'ServerCreate', 'ServerAdopt'")}
             when 'rebooting' then ${openJobOf("s.id", "'ServerPower'")}
             when 'resizing' then ${openJobOf("s.id", "'ServerResize'")}
             when 'rebuilding' then ${openJobOf("s.id", "'ServerRebuild'")}
             when 'deleting' then ${openJobOf("s.id", "'ServerDestroy'")} or exists (
               select 1 from job j where j.organisation_id = s.organisation_id and j.resource_id = s.id
                  and j.kind = 'ServerDestroy' and j.status = 'failed')
             else ${openJobOf("s.id", "'ServerRestore', 'ServerStop', 'ServerPower'")} end`,
  },
  {
    invariant: "I5",
    check: "what a resize takes along is of a resize that is open",
    by: "server",
    sql: `select s.id as key, s.id || ' takes ' || s.resize_package || ' along' as subject from server s
           where within(s.id) and s.resize_package is not null and not ${openJobOf("s.id", "'ServerResize'")}`,
  },
  onItsWay("network"),
  onItsWay("subnet"),
  {
    invariant: "I5",
    check: "a server that is marked for removal knows when, and goes then",
    sql: `select id as subject from server
           where status = 'pending_deletion' and (purge_at is null or purge_at < clock_timestamp() - interval '10 minutes')
             and locked_at is null`,
  },
  {
    invariant: "I5",
    check: "an open job is in the queue, held by its claim, and nothing else is",
    // By the name that the region's mode gives its tasks, as in kule_queue_add; those of the control plane have one name.
    sql: `with entry as materialized (
            select q.key, q.locked_by, t.identifier from graphile_worker._private_jobs q
              join graphile_worker._private_tasks t on t.id = q.task_id
             where t.identifier like 'region:%' or t.identifier like 'direct:%' or t.identifier = 'control-plane')
          select 'not queued: ' || j.id as subject from job j left join region r on r.slug = j.region
           where ${isOpen()} and not exists (
             select 1 from entry where entry.key = j.id
                and entry.identifier = case when j.region is null then 'control-plane'
                                            when r.mode = 'direct' then 'direct:' || j.region else 'region:' || j.region end)
          union all
          select 'queued though ended: ' || entry.key from entry
           where not exists (select 1 from job j where j.id = entry.key and ${isOpen()})
          union all
          select 'held by ' || coalesce(entry.locked_by, 'nobody') || ': ' || j.id from job j join entry on entry.key = j.id
           where ${isOpen()} and entry.locked_by is distinct from
                 case j.status when 'running' then j.id || '/' || j.epoch end`,
  },
  {
    invariant: "I6",
    check: "no job is held by a lease that passed long ago",
    // Agents take over within seconds, the worker within a minute; both had enough time.
    sql: `select id as subject from job where status = 'running' and lease_until < clock_timestamp() - interval '3 minutes'`,
  },
  {
    invariant: "I6",
    check: "no job waits while its region's agent is well",
    sql: `select j.id || ' in ' || j.region as subject from job j join region r on r.slug = j.region
           where j.status = 'queued' and j.run_at < clock_timestamp() - ${longestWait}
             and not r.maintenance and r.health_ok and r.health_at > clock_timestamp() - interval '1 minute'
             and r.status_since < clock_timestamp() - ${longestWait}
             and not exists (select 1 from job o where o.organisation_id = j.organisation_id and o.resource_id = j.resource_id
                               and (o.status = 'running' or o.finished_at > clock_timestamp() - ${longestWait}))`,
  },
  {
    invariant: "I7",
    check: "no step was accepted from a former holder",
    by: "job",
    sql: `select job_id as key, job_id || ' epoch ' || epoch || ' after ' || later as subject from (
            select st.job_id, st.epoch, greatest(st.started_at, st.finished_at) as at,
                   min(st.started_at) over later_ones as next_at, min(st.epoch) over later_ones as later
              from job j join job_step st on st.job_id = j.id
             where j.epoch > 1 and within(j.id)
            window later_ones as (partition by st.job_id order by st.epoch
                                   groups between 1 following and unbounded following)) steps
           where at > next_at`,
  },
  {
    invariant: "I7",
    check: "no step is ahead of what the job's holder reported",
    by: "job",
    // The last step of each job says it, and an index has it.
    sql: `select j.id as key, j.id || ' epoch ' || last.epoch || ' report ' || last.seq as subject
            from job j
            cross join lateral (select epoch, seq from job_step where job_id = j.id order by epoch desc, seq desc limit 1) last
           where within(j.id) and (last.epoch, last.seq) > (j.epoch, j.last_seq)`,
  },
  {
    invariant: "I7",
    check: "nothing is under way for a former holder, or for a job that does not run",
    by: "job",
    sql: `select st.job_id as key, st.job_id || ' epoch ' || st.epoch || ' step ' || st.name as subject
            from job_step st join job j on j.id = st.job_id
           where within(st.job_id) and within(j.id) and st.status = 'running' and (st.epoch < j.epoch or j.status <> 'running')`,
  },
  {
    invariant: "I7",
    check: "a job that ran has been claimed, and every claim counts",
    by: "job",
    sql: `select id as key, id as subject from job
           where within(id) and ((status = 'running' and (epoch = 0 or attempt = 0)) or attempt > epoch)`,
  },
];

/** A subnet's job is its network's; one that is being deleted may wait for the retry of a failed job. */
function onItsWay(table: "network" | "subnet"): Check {
  const resource = table === "network" ? "x.id" : "x.network_id";
  return {
    invariant: "I5",
    check: `a ${table} in transition has its job`,
    sql: `select x.id || ' is ' || x.status as subject from ${table} x
           where x.status in ('provisioning', 'updating', 'deleting')
             and not exists (select 1 from job j where j.resource_id = ${resource} and j.kind = 'NetworkApply'
                               and (${isOpen()} or x.status = 'deleting' and j.status in ('failed', 'cancelled')))`,
  };
}
