import type { Check } from "./check.ts";

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
];
