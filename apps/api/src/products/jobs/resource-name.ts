import { type RawBuilder, sql } from "kysely";

/**
 * The present name of a job's resource; null when it is gone. The query must contain the job under this
 * alias.
 */
export function resourceNameOf(job: "job" | "j"): RawBuilder<string | null> {
  return sql.raw(`case ${job}.resource_type
    when 'server' then (select s.name from server s
      where s.organisation_id = ${job}.organisation_id and s.id = ${job}.resource_id and s.status <> 'deleted')
    when 'network' then (select n.name from network n
      where n.organisation_id = ${job}.organisation_id and n.id = ${job}.resource_id)
    when 'public_ip' then (select host(p.address) from public_ip p
      where p.organisation_id = ${job}.organisation_id and p.id = ${job}.resource_id)
    when 'domain' then (select d.name from domain d
      where d.organisation_id = ${job}.organisation_id and d.id = ${job}.resource_id)
    when 'certificate' then (select c.name from certificate c
      where c.organisation_id = ${job}.organisation_id and c.id = ${job}.resource_id)
    when 'load_balancer' then (select b.name from load_balancer b
      where b.organisation_id = ${job}.organisation_id and b.id = ${job}.resource_id)
    when 'subnet' then (select u.name from subnet u
      where u.organisation_id = ${job}.organisation_id and u.id = ${job}.resource_id)
  end`);
}
