import type { Check } from "./check.ts";

/**
 * What the worker found when it last verified the trail against its seals, for which it alone has the key.
 */
export const auditChecks: readonly Check[] = [
  {
    invariant: "I12",
    check: "every sealed row of the audit trail is there as it was, and none was added to the sealed past",
    sql: `select reason || coalesce(' ' || audit_id, '') || coalesce(' at position ' || position, '') as subject
            from audit_break`,
  },
  {
    invariant: "I12",
    check: "a trail that is sealed is verified",
    sql: `select 'not verified since ' || coalesce(v.checked_at::text, 'the first seal') as subject
            from audit_seal_head h left join audit_verification v on true
           where coalesce(v.checked_at, (select sealed_at from audit_seal order by position limit 1))
                 < now() - interval '1 hour'`,
  },
];
