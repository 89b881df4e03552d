import { type Check, isOpen } from "./check.ts";

/** What must hold for domains and their record sets, other than ownership and uniqueness. */
export const domainChecks: readonly Check[] = [
  {
    invariant: "I10",
    check: "a domain counts its record sets",
    by: "domain",
    sql: `select d.id as key, d.id || ' counts ' || d.record_count || ' of ' || found.amount as subject
            from domain d
            cross join lateral (select count(*) as amount from record_set r
                                 where r.organisation_id = d.organisation_id and r.domain_id = d.id) found
           where within(d.id) and d.record_count <> found.amount`,
  },
  {
    invariant: "I10",
    check: "nothing is beside a CNAME",
    by: "domain",
    sql: `select d.id as key, r.name || ' of ' || d.id as subject
            from domain d join record_set r on r.organisation_id = d.organisation_id and r.domain_id = d.id
           where within(d.id)
           group by d.id, r.name having bool_or(r.type = 'CNAME') and count(*) > 1`,
  },
  {
    invariant: "I10",
    check: "a record set follows the server that its value names",
    by: "domain",
    sql: `select d.id as key, r.name || ' ' || r.type || ' of ' || d.id as subject
            from domain d join record_set r on r.organisation_id = d.organisation_id and r.domain_id = d.id
           where within(d.id) and (r.server_id is not null or r.values[1] like 'auto:%')
             and r.values is distinct from array['auto:' || r.server_id]`,
  },
  {
    invariant: "I14",
    check: "what a proven domain has is served, on its way, or says why not",
    sql: `select d.id || ' (' || d.status || ') has ' || d.observed_generation || ' of ' || d.generation as subject from domain d
           where d.is_verified and d.observed_generation < d.generation and d.status_code is null
             and not exists (select 1 from job j where j.resource_id = d.id and ${isOpen()})`,
  },
  {
    invariant: "I14",
    check: "a domain in transition has a job, or a reason why it has none",
    sql: `select d.id || ' (' || d.status || ')' as subject from domain d
           where d.status in ('provisioning', 'updating', 'deleting') and d.status_code is null
             and not exists (select 1 from job j where j.resource_id = d.id and ${isOpen()})`,
  },
  {
    invariant: "I11",
    check: "a domain that its parent proves has one, or is about to end",
    sql: `select d.name || ' of ' || d.organisation_id as subject from domain d
           where d.is_verified and d.verified_by = 'parent' and d.status <> 'deleting'
             and not exists (
               select 1 from domain p
                where p.organisation_id = d.organisation_id and p.is_verified and p.id <> d.id
                  and right(d.name, length(p.name) + 1) = '.' || p.name)
             and not exists (
               select 1 from graphile_worker._private_jobs q join graphile_worker._private_tasks t on t.id = q.task_id
                where t.identifier = 'end_domain' and q.payload ->> 'organisation_id' = d.organisation_id)`,
  },
  {
    invariant: "I13",
    check: "a domain is removed only after its purge time",
    sql: `select d.id as subject from domain d where d.status = 'deleting' and d.purge_at > clock_timestamp()`,
  },
];
