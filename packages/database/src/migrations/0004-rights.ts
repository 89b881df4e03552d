/** Tables that belong to an organisation. Row-level security is on for each of them. */
export const TENANT_TABLES = [
  "ssh_key",
  "network",
  "subnet",
  "server",
  "server_secret",
  "nic",
  "address",
  "job",
  "job_step",
  "usage_event",
  "member",
] as const;

/*
 * A CASE and not an OR: the planner takes an OR of these for something that hardly any row passes, and then gives up
 * the ordered index for reading and sorting all rows of the organisation (ADR 0004).
 */
const visible = `case when coalesce(current_setting('app.organisation', true), '') = '' then true
        else organisation_id = current_setting('app.organisation', true) end`;

/**
 * What the API's role may do. It owns nothing, is no superuser, and audit and usage can only be appended to.
 *
 * Row-level security is the second line: a transaction that has set \`app.organisation\` sees and writes only that
 * organisation's rows, whatever its queries forgot. Outside of such a transaction (plain reads, the agents' calls,
 * the worker) the first line stands alone: organisation_id in every query. ADR 0004 has the measurements.
 */
export const rights = `
grant usage on schema public to kule_api;
grant select, insert, update, delete on all tables in schema public to kule_api;
revoke update, delete, truncate on audit, usage_event from kule_api;
revoke delete, truncate on job, job_step, organisation, region, app_user from kule_api;
revoke insert, update, delete, truncate on invariant_report from kule_api;
revoke all on kule_migration, kule_migration_lock from kule_api;
grant select on kule_migration to kule_api;

revoke execute on all functions in schema public from public;
grant execute on function
  kule_queue_add(text), kule_queue_lock(text, integer), kule_queue_renew(text, integer),
  kule_queue_release(text, integer), kule_queue_finish(text, integer),
  kule_task_add(text, json, timestamptz, text),
  kule_claim_job(text, text, text, text, text[], integer)
to kule_api;

${TENANT_TABLES.map(
  (table) => `
alter table ${table} enable row level security;
alter table ${table} force row level security;
create policy organisation on ${table} to kule_api
  using (${visible})
  with check (${visible});
create policy owner on ${table} to current_user using (true) with check (true);`,
).join("\n")}
`;
