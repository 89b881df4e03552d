import type { Client } from "pg";

/**
 * Columns that name another row and have no foreign key, each with why. The list may only shrink: a column that is not
 * here needs a key that names the organisation, and one that is gone must go from here.
 */
const excused: { readonly [column: string]: string } = {
  "audit.actor_id": "the trail outlives whoever acted",
  "audit.organisation_id": "rows of no organisation too, and the trail outlives its subjects",
  "audit.request_id": "names a request, no row",
  "audit_break.audit_id": "names a row of the trail that may be gone",
  "audit_break.organisation_id": "of a row that may be gone, and whose organisation may be",
  "audit_seal.audit_id": "outlives the row that it is about, so that a removed row is noticed",
  "audit_seal.key_id": "names a key that the database never sees",
  "audit_seal.organisation_id": "outlives the row that it is about",
  "audit_seal_start.key_id": "names a key that the database never sees",
  "audit_seal_head.key_id": "names a key that the database never sees",
  "console_session.agent_token_id": "an agent's token, of the region",
  "console_session.claim_id": "made by the agent for its own call",
  "console_session.replica_id": "a process that is gone goes, and the session is ended",
  "console_session.request_id": "names a request, no row",
  "console_session.token_id": "the session outlives the token, and is ended with it",
  "idempotency_key.organisation_id": "'' for callers of no organisation",
  "invitation.actor_id": "an invitation outlives whoever invited, as the trail does",
  "job.agent_token_id": "an agent's token, of the region",
  "job.claim_id": "made by the agent for its own call",
  "job.request_id": "names a request, no row",
  "job.resource_id": "of the table that resource_type names; world-check I11 holds its organisation",
  "domain.status_job_id":
    "set together with the status by a job of the domain; world-check I11 holds its organisation",
  "network.status_job_id":
    "set together with the status by a job of the network; world-check I11 holds its organisation",
  "public_ip.status_job_id":
    "set together with the status by a job of the server; world-check I11 holds its organisation",
  "public_address_count.pool_id":
    "written by triggers from rows that have the key; a key here would lock the pool whenever an address is reserved",
  "quota_count.organisation_id":
    "written by triggers from rows that have the key; a key here would lock the organisation in every create",
  "region_agent.token_id": "an agent's token, of the region; a revoked one's agent is forgotten after a day",
  "region_growth.server_id": "a share of the region's room, until the next look at it",
  "region_vm.marker_organisation_id": "what is written on a guest, right or wrong",
  "region_vm.marker_server_id": "what is written on a guest, right or wrong",
  "region_vmid.server_id": "a tombstone outlives its server",
  "server.ssh_key_ids": "what was asked for, kept when a key goes",
  "ssh_key_use.ssh_key_id": "what was asked for, kept when a key goes",
  "server.status_job_id":
    "set together with the status by a job of the server; world-check I11 holds its organisation",
  "server.managed_by_id":
    "of the table that managed_by_type names: only createManagedServer writes it, for the acting organisation; world-check I4 holds it",
  "load_balancer_traffic.listener_id": "what was carried outlives the listener",
  "usage_event.managed_by_id": "usage outlives what was used",
  "usage_event.resource_id": "usage outlives what was used",
  "usage_segment.managed_by_id": "usage outlives what was used",
  "usage_segment.resource_id": "usage outlives what was used",
};

/** What is wrong with the columns that look like references and have no foreign key. */
export async function unkeyedReferences(owner: Client): Promise<{ columns: number; violations: string[] }> {
  const { rows } = await owner.query<{ name: string }>(`
    select relname || '.' || attname as name
      from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
       and attname ~ '_ids?$'
       and not exists (select from pg_constraint where contype = 'f' and conrelid = attrelid and attnum = any (conkey))
     order by 1`);
  const found = new Set(rows.map(({ name }) => name));
  return {
    columns: found.size,
    violations: [
      ...[...found]
        .filter((name) => excused[name] === undefined)
        .map((name) => `${name} names a row and has no foreign key`),
      ...Object.keys(excused)
        .filter((name) => !found.has(name))
        .map((name) => `${name} needs no excuse any more: take it from the list`),
    ],
  };
}
