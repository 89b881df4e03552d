import { type Check, isOpen } from "./check.ts";

/** What must hold for certificates, other than ownership and uniqueness. */
export const certificateChecks: readonly Check[] = [
  {
    invariant: "I10",
    check: "a certificate has the material of its version and no other",
    sql: `select c.id || ' has version ' || coalesce(c.version::text, 'none') || ' and material of '
                 || coalesce(found.versions, 'none') as subject
            from certificate c
            cross join lateral (select string_agg(v.version::text, ',') as versions from certificate_version v
                                 where v.organisation_id = c.organisation_id and v.certificate_id = c.id) found
           where c.version::text is distinct from found.versions`,
  },
  {
    invariant: "I14",
    check: "a managed certificate without material has an attempt",
    sql: `select c.id as subject from certificate c
           where c.type = 'managed' and c.version is null
             and not exists (select 1 from certificate_order o where o.certificate_id = c.id)`,
  },
  {
    invariant: "I14",
    check: "a key that the region is to make has a job, or a time at which it is asked again",
    sql: `select o.certificate_id as subject from certificate_order o
           where o.state = 'requesting' and o.step_at < clock_timestamp() - interval '15 minutes'
             and not exists (select 1 from job j where j.resource_id = o.certificate_id and ${isOpen()})`,
  },
  {
    invariant: "I14",
    check: "what domains serve for a certificate is of an attempt",
    sql: `select d.certificate_id || ' in ' || d.domain_id as subject from domain_challenge d
           where not exists (select 1 from certificate_order o
                              where o.organisation_id = d.organisation_id and o.certificate_id = d.certificate_id)`,
  },
];
