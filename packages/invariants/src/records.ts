import type { Check } from "./check.ts";

/** Its violations begin with the organisation's id; kule_recount_quotas corrects them. */
export const quotasAreCounted = "quotas count what there is";
/** Its violations begin with the pool's id; kule_recount_public_addresses corrects them. */
export const poolsAreCounted = "IP pools count what there is";

/** Its violations begin with the organisation's id; kule_rebalance_usage corrects them. */
export const usageIsBalanced = "balances of usage are what the segments add up to";

/** Records for others: the audit trail and usage. */
export const recordChecks: readonly Check[] = [
  {
    invariant: "I9",
    check: "every end of a job is in the audit trail, once",
    by: "job",
    // A job that is tried again after its end ends again, and the retry is in the trail too. Not of jobs that are older than
    // what retention left of the trail.
    sql: `select j.id as key, j.id || ' ended ' || due.ends || ' times, the trail says ' || coalesce(a.ends, 0) as subject
            from job j
            left join (select resource, count(*) filter (where action = 'job.end') ends,
                              count(*) filter (where action = 'job.retry') retries
                         from audit where within(resource) and (action = 'job.end' or action = 'job.retry' and outcome = 'succeeded')
                        group by resource) a on a.resource = j.id
            cross join lateral (select coalesce(a.retries, 0)
                                       + case when j.finished_at is null then 0 else 1 end as ends) due
           where within(j.id) and coalesce(a.ends, 0) <> due.ends
             and j.created_at >= coalesce((select removed_before from audit_seal_start), '-infinity')`,
  },
  {
    invariant: "I9",
    check: "usage opens and closes in turn",
    by: "metered",
    sql: `with events as materialized (select resource_id, kind, seq from usage_event where within(resource_id))
          select resource_id as key, resource_id || ' ' || kind || coalesce(' after ' || before, ' first') || ', at ' || seq as subject from (
            select resource_id, kind, seq, lag(kind) over (
                     partition by resource_id, kind in ('server.started', 'server.stopped') order by seq) as before
              from events
             where kind in ('server.started', 'server.stopped', 'disk.allocated', 'disk.released')) turns
           where before = kind or before is null and kind in ('server.stopped', 'disk.released')`,
  },
  {
    invariant: "I9",
    check: "usage is open for what a server has, and for nothing else",
    by: "server",
    sql: `select s.id as key, s.id || ' is ' || s.status || ' with power ' || s.power_state || '; usage has ' || u.disks || ' disks, '
                 || u.runs || ' runs, ' || u.purges || ' purges' as subject
            from server s
            left join (select resource_id,
                              sum(case kind when 'disk.allocated' then 1 when 'disk.released' then -1 else 0 end) disks,
                              sum(case kind when 'server.started' then 1 when 'server.stopped' then -1 else 0 end) runs,
                              count(*) filter (where kind = 'server.purged') purges
                         from usage_event where resource_type = 'server' and within(resource_id) group by resource_id) counted
              on counted.resource_id = s.id
            cross join lateral (select coalesce(counted.disks, 0) disks, coalesce(counted.runs, 0) runs,
                                       coalesce(counted.purges, 0) purges) u
           where within(s.id) and case when s.status = 'deleted' then (u.disks, u.runs, u.purges) <> (0, 0, 1)
                      else (u.disks, u.purges) <> (case when s.observed_generation > 0 then 1 else 0 end, 0)
                        or (u.disks = 0 or s.power_state = 'off') and u.runs <> 0
                        or u.disks = 1 and s.power_state = 'on' and u.runs <> 1 end`,
  },
  {
    invariant: "I9",
    check: "usage segments are what the events say",
    by: "metered",
    // The database derives them event by event; here they are computed from all events at once. A resize
    // divides open segments and leaves closed ones alone.
    sql: `with events as materialized (select resource_id, kind, at, seq from usage_event where within(resource_id)),
            turns as (
              select resource_id, 'compute' as kind, at, seq, kind = 'server.started' as opens, kind <> 'server.resized' as turns
                from events where kind in ('server.started', 'server.stopped', 'server.resized')
              union all
              select resource_id, 'disk', at, seq, kind = 'disk.allocated', kind <> 'server.resized'
                from events where kind in ('disk.allocated', 'disk.released', 'server.resized')
              union all
              select resource_id, 'public_ip', at, seq, kind = 'public_ip.allocated', true
                from events where kind in ('public_ip.allocated', 'public_ip.released')),
            numbered as (select *, count(*) filter (where turns) over (partition by resource_id, kind order by seq) as turn from turns),
            states as (select resource_id, kind, at, lead(at) over (partition by resource_id, kind order by seq) as until,
                              bool_or(opens) over (partition by resource_id, kind, turn) and turn > 0 as is_open from numbered),
            due as (select resource_id, kind, at as started_at, until as ended_at from states where is_open and until is distinct from at),
            have as (select resource_id, kind, started_at, ended_at from usage_segment where within(resource_id) and ended_at is distinct from started_at)
          select coalesce(due.resource_id, have.resource_id) as key, coalesce(due.resource_id, have.resource_id) || ' ' || coalesce(due.kind, have.kind)
                 || case when have.started_at is null then ' has no segment from ' || due.started_at
                         when due.started_at is null then ' has a segment from ' || have.started_at || ' that no event opened'
                         else ' has a segment from ' || have.started_at || ' that ends at ' || coalesce(have.ended_at::text, 'no time')
                              || ' and not at ' || coalesce(due.ended_at::text, 'no time') end as subject
            from due full join have using (resource_id, kind, started_at)
           where due.started_at is null or have.started_at is null or due.ended_at is distinct from have.ended_at`,
  },
  {
    invariant: "I9",
    check: usageIsBalanced,
    by: "organisation",
    sql: `with due as (select * from usage_balance_due where within(organisation_id)),
          have as (select organisation_id, label_key, label_value, region, kind, package, day, is_last, begun, ended, began_at,
                          first, first_began_at, second, second_began_at
                     from usage_balance where within(organisation_id)),
          wrong as (select 'should have' as how, * from (table due except table have) missing
                    union all
                    select 'has', * from (table have except table due) excess)
          select organisation_id as key, concat_ws(' ', organisation_id, how, 'on', day, region, kind, nullif(package, ''),
                           nullif(label_key || label_value, ''), begun, 'begun', ended, 'ended', began_at, first, second) as subject
            from wrong`,
  },
  {
    invariant: "I9",
    check: quotasAreCounted,
    by: "organisation",
    sql: `with counted as (
            select organisation_id, resource, package, disk_gb, resize_package, resize_disk_gb, is_leaving, sum(amount)::integer as amount
              from quota_count where within(organisation_id) group by 1, 2, 3, 4, 5, 6, 7 having sum(amount) <> 0),
          wrong as (
            select 'has' as how, * from (select * from quota_due where within(organisation_id) except select * from counted) missing
            union all
            select 'counts', * from (select * from counted except select * from quota_due where within(organisation_id)) excess)
          select organisation_id as key, concat_ws(' ', organisation_id, how, amount, resource, package, disk_gb, resize_package, resize_disk_gb,
                           case when is_leaving then 'leaving' end) as subject from wrong`,
  },
  {
    invariant: "I9",
    check: poolsAreCounted,
    sql: `with counted as (
            select pool_id, state, is_allocated, sum(amount)::integer as amount
              from public_address_count group by 1, 2, 3 having sum(amount) <> 0),
          wrong as (
            select 'has' as how, * from (select * from public_address_due except select * from counted) missing
            union all
            select 'counts', * from (select * from counted except select * from public_address_due) excess)
          select concat_ws(' ', pool_id, how, amount, state, case when is_allocated then 'allocated' end) as subject from wrong`,
  },
  {
    invariant: "I9",
    check: "the use of SSH keys is what the servers say",
    by: "organisation",
    sql: `select organisation_id as key, concat_ws(' ', server_id, how, ssh_key_id) as subject from (
            select 'has' as how, * from (select * from ssh_key_use_due where within(organisation_id)
                                 except select * from ssh_key_use where within(organisation_id)) missing
            union all
            select 'is said to have', * from (select * from ssh_key_use where within(organisation_id)
                                 except select * from ssh_key_use_due where within(organisation_id)) excess) wrong`,
  },
  {
    invariant: "I9",
    check: "the numbers of usage events have no gap",
    by: "events of an organisation",
    sql: `select o.id as key, o.id || ' counts ' || o.usage_seq || ', has ' || coalesce(u.n, 0)
                 || ' up to ' || coalesce(u.top, 0) as subject from organisation o
            left join (select organisation_id, count(*) n, max(seq) top from usage_event where within(organisation_id) group by organisation_id) u
              on u.organisation_id = o.id
           where within(o.id) and (coalesce(u.n, 0) <> o.usage_seq or coalesce(u.top, 0) <> o.usage_seq)`,
  },
];
