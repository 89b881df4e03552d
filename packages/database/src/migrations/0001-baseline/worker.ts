/** The control plane's worker: the live ones, their findings, and the tasks that the API may add for them. */
export const worker = `
-- The running workers, so that an installation without one is noticed: nothing else fails when there is none.
create table worker_process (
  id text primary key,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  -- The names under which it holds tasks.
  holders text[] not null default '{}'
);
grant select on worker_process to kule_api;

-- The result of the worker's last check of the invariants.
create table invariant_report (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  -- When the checked snapshot was taken.
  checked_at timestamptz not null,
  duration_ms integer not null,
  interval_seconds integer not null,
  checks jsonb not null,
  violations jsonb not null,
  failures jsonb not null,
  -- How far the reading of the large tables has come, by key; the next pass continues there.
  progress jsonb not null default '{}',
  -- All violations with the places where they are, also those that the report does not name.
  findings jsonb not null default '[]'
);
grant select on invariant_report to kule_api;

-- Schedules a task of the control plane's own worker. It replaces a scheduled task with the same key.
create function kule_task_add(p_task text, p_payload json, p_run_at timestamptz, p_key text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if p_task not in ('expire_removal_buffer', 'check_invariants', 'refresh_filters') then
    raise exception 'task % is not one the API may add', p_task;
  end if;
  perform graphile_worker.add_job(p_task, p_payload, run_at => p_run_at, job_key => p_key, max_attempts => 1000);
end $$;
grant execute on function kule_task_add(text, json, timestamptz, text) to kule_api;

-- Mails are sent one after the other, so that a slow mail server delays no other task. A mail replaces a waiting one with
-- the same key. With graphile's pauses twelve attempts take about a day.
create function kule_mail_add(p_task text, p_payload json, p_key text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if p_task not in ('mail_password_reset') then
    raise exception 'task % is not a mail that the API may add', p_task;
  end if;
  perform graphile_worker.add_job(p_task, p_payload, queue_name => 'mail', job_key => p_key, max_attempts => 12);
end $$;
grant execute on function kule_mail_add(text, json, text) to kule_api;
`;
