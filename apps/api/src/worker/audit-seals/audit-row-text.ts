/**
 * SQL: the whole content of a row `a` of the audit trail, as one text that never varies. It is written out
 * here and is no function of the database, where an attacker who changes rows could change it too.
 */
export const auditRowText = `jsonb_build_array(
  a.id, (extract(epoch from a.at) * 1000000)::bigint, a.organisation_id, a.region, a.actor_type, a.actor_id,
  a.actor_name, a.action, a.resource, a.outcome, a.http_status, a.code, a.request_id, a.source_address, a.details
)::text`;

/** SQL: a time in UTC to the microsecond, whatever the session's settings are. */
export const exactTime = (expression: string) =>
  `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * How long after an entry's time its transaction may commit; statements, waits and idle transactions of the
 * API all end earlier. An unsealed entry that is older than the seals by more than this was not written at
 * its stated time.
 */
export const longestTransaction = "interval '10 minutes'";
