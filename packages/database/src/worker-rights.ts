/**
 * The rights of the worker's role beyond the API's: to run graphile-worker's tasks, to read for the invariants, and
 * to write its findings and seals. Granted again by each migration run, so that a later version's tables are
 * included.
 */
export const workerRights = `
do $$
declare
  each record;
  secrets constant text[] := array['password_hash', 'sealed_password', 'sealed_secret', 'secret_hash'];
begin
  grant usage on schema public, graphile_worker to kule_worker;
  grant select, insert, update, delete on all tables in schema graphile_worker to kule_worker;
  grant usage, select on all sequences in schema graphile_worker to kule_worker;
  grant execute on all functions in schema graphile_worker to kule_worker;

  grant select on all tables in schema public to kule_worker;
  -- Nothing that the worker looks at is a secret.
  revoke select on idempotency_key from kule_worker;
  for each in
    select c.oid::regclass as name,
           string_agg(quote_ident(a.attname), ', ') filter (where a.attname <> all (secrets)) as columns
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
     group by c.oid
    having bool_or(a.attname = any (secrets))
  loop
    execute format('revoke select on %s from kule_worker', each.name);
    execute format('grant select (%s) on %s to kule_worker', each.columns, each.name);
  end loop;
  grant insert, update, delete on
    audit_seal, audit_seal_head, audit_verification, audit_break, audit_seal_start, invariant_report,
    worker_process
  to kule_worker;
  grant execute on function kule_keep_password_reset(text, text, bytea, integer) to kule_worker;
  grant execute on function
    kule_recount_quotas(text), kule_recount_public_addresses(text), kule_rebalance_usage(text)
  to kule_worker;
  -- The invariants compare the names that are to be served with it.
  grant execute on function kule_reverse_name(text, inet) to kule_worker;
  -- They remove nothing that is younger than a month, or three.
  grant execute on function
    kule_history_months(text), kule_extend_history(text, integer, integer), kule_remove_job_steps(integer),
    kule_remove_audit(date, text, jsonb)
  to kule_worker;

  -- It looks at all organisations at once; what it may do with a row is said by the grants above.
  for each in
    select c.oid::regclass as name from pg_class c
     where c.relkind in ('r', 'p') and c.relrowsecurity
       and c.relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
       and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'worker')
  loop
    execute format('create policy worker on %s to kule_worker using (true) with check (true)', each.name);
  end loop;
end $$;
`;
