/** Jobs, their steps, usage, and the fenced lease on graphile-worker's queue. */
export const jobs = `
create table job (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  kind text not null,
  resource_type text not null check (resource_type in ('server', 'network', 'subnet')),
  resource_id text not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  phase text check (phase in ('observe', 'plan', 'apply', 'verify')),
  progress smallint not null default 0 check (progress between 0 and 100),
  priority smallint not null default 0,
  attempt integer not null default 0,
  max_attempts integer not null default 8,
  run_at timestamptz not null default clock_timestamp(),
  -- The fencing token: grows with every claim, and every report must carry it.
  epoch integer not null default 0,
  lease_until timestamptz,
  claim_id text,
  agent_token_id text,
  agent_name text,
  last_seq integer not null default 0,
  irreversible boolean not null default false,
  cancel_requested boolean not null default false,
  error jsonb,
  internal_error text,
  result jsonb,
  requested_by jsonb not null,
  request_id text not null,
  -- Grows with every change: the id of the job's events.
  version bigint not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz,
  unique (organisation_id, id),
  check ((status = 'running') = (lease_until is not null)),
  check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null))
);
-- Per resource at most one job runs and at most one waits: this, not a queue, keeps them in order.
create unique index job_one_running on job (resource_id) where status = 'running';
create unique index job_one_queued on job (resource_id) where status = 'queued';
create index job_claim_queued on job (region, priority, run_at, id) where status = 'queued';
create index job_claim_expired on job (region, lease_until) where status = 'running';
create unique index job_claim_id on job (region, claim_id) where status = 'running';
create index job_list on job (organisation_id, created_at desc, id desc);
create index job_list_resource on job (organisation_id, resource_id, created_at desc, id desc);

create table job_step (
  job_id text not null,
  organisation_id text not null,
  epoch integer not null,
  seq integer not null,
  attempt integer not null,
  phase text not null,
  name text not null,
  status text not null check (status in ('running', 'succeeded', 'skipped', 'failed')),
  message text,
  external_ref text,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  primary key (job_id, epoch, seq),
  foreign key (organisation_id, job_id) references job (organisation_id, id)
);

create table usage_event (
  id text primary key,
  organisation_id text not null references organisation (id),
  seq bigint not null,
  kind text not null,
  at timestamptz not null default clock_timestamp(),
  region text not null,
  resource_type text not null,
  resource_id text not null,
  resource_name text not null,
  package text,
  quantity jsonb not null,
  labels jsonb not null default '{}',
  job_id text,
  unique (organisation_id, seq),
  foreign key (organisation_id, job_id) references job (organisation_id, id)
);
-- A repeated settlement cannot bill twice.
create unique index usage_event_once on usage_event (job_id, resource_id, kind);
create index usage_event_resource on usage_event (organisation_id, resource_id, seq);

create function kule_job_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    new.version := old.version + 1;
  end if;
  return new;
end $$;
create trigger job_changed before update on job for each row execute function kule_job_changed();

-- Says what changed to the connection that changed it, which passes it on once the change is committed. A NOTIFY from
-- here would be in the transaction, and Postgres lets only one transaction with a NOTIFY commit at a time, disk flush
-- included, so every claim and report would queue for it (ADR 0008).
create function kule_job_announce() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    raise notice using errcode = 'KN001', message = new.id;
  end if;
  -- Parked claims of the region wake up when there may be work: a new job, or a job that makes room for the next.
  if new.status = 'queued' or (tg_op = 'UPDATE' and old.status = 'running' and new.status <> 'running') then
    raise notice using errcode = 'KN002', message = new.region;
  end if;
  return null;
end $$;
create trigger job_announce after insert or update on job for each row execute function kule_job_announce();

create function kule_token_announce() returns trigger language plpgsql as $$
begin
  perform pg_notify('kule_token', new.id);
  return null;
end $$;
create trigger token_announce after update on token for each row
  when (old.revoked_at is distinct from new.revoked_at or old.expires_at is distinct from new.expires_at)
  execute function kule_token_announce();

-- The queue entry of a job. The API's role has no right on graphile-worker's tables; these functions are all it
-- can do there. They run with the owner's rights and a pinned search path.
create function kule_queue_add(p_job_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_job job;
begin
  select * into strict v_job from job where id = p_job_id and status = 'queued';
  perform graphile_worker.add_job(
    'region:' || v_job.region,
    json_build_object('job_id', v_job.id),
    run_at => v_job.run_at,
    max_attempts => 1000,
    job_key => v_job.id,
    priority => v_job.priority
  );
end $$;

-- Locked in graphile's own columns too, so that its 4-hour sweep and every dashboard see the truth.
create function kule_queue_lock(p_job_id text, p_epoch integer) returns void
language sql security definer set search_path = public, pg_temp as $$
  update graphile_worker._private_jobs
     set locked_at = now(), locked_by = p_job_id || '/' || p_epoch, updated_at = now()
   where key = p_job_id;
$$;

create function kule_queue_renew(p_job_id text, p_epoch integer) returns void
language sql security definer set search_path = public, pg_temp as $$
  update graphile_worker._private_jobs set locked_at = now()
   where key = p_job_id and locked_by = p_job_id || '/' || p_epoch;
$$;

-- Back into the queue at the job's run_at. Only the current holder's entry moves: graphile's own completion has no
-- such test, which is why Kule never uses it for region jobs.
create function kule_queue_release(p_job_id text, p_epoch integer) returns void
language sql security definer set search_path = public, pg_temp as $$
  update graphile_worker._private_jobs
     set locked_at = null, locked_by = null, updated_at = now(),
         run_at = (select run_at from job where id = p_job_id)
   where key = p_job_id and locked_by = p_job_id || '/' || p_epoch;
$$;

create function kule_queue_finish(p_job_id text, p_epoch integer) returns void
language sql security definer set search_path = public, pg_temp as $$
  delete from graphile_worker._private_jobs
   where key = p_job_id and (locked_by is null or locked_by = p_job_id || '/' || p_epoch);
$$;

-- A task for the control plane's own worker, at a time; the same key replaces.
create function kule_task_add(p_task text, p_payload json, p_run_at timestamptz, p_key text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if p_task not in ('expire_removal_buffer', 'check_invariants') then
    raise exception 'task % is not one the API may add', p_task;
  end if;
  perform graphile_worker.add_job(p_task, p_payload, run_at => p_run_at, job_key => p_key, max_attempts => 1000);
end $$;

/*
 * The next job for an agent, or nothing. Time is Postgres' clock only.
 *   1. the same claim again: its reply was lost, so the same job goes out, under a new epoch if the lease is over;
 *   2. a job whose holder let the lease pass;
 *   3. the first queued job whose resource has no running one.
 * Attempts that are used up are left for the reaper, so that a poisonous job cannot circle.
 */
create function kule_claim_job(
  p_region text, p_token_id text, p_agent_name text, p_claim_id text, p_capabilities text[], p_lease_seconds integer
) returns setof job language plpgsql
-- The bench saw a claim take twenty times as long (23 ms) beside 100,000 jobs that another region had just got, and
-- 0.8 ms with these settings. A plan from before the burst would explain it; a smaller scene did not reproduce it. The
-- partial indexes are the right way at any size, so nothing else is left to choose.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  v_id text;
  v_epoch integer;
  v_is_leased boolean;
  v_may_go_on boolean;
begin
  perform 1 from region where slug = p_region and maintenance;
  if found then
    return;
  end if;

  select id, lease_until > clock_timestamp(), attempt < max_attempts into v_id, v_is_leased, v_may_go_on from job
   where region = p_region and claim_id = p_claim_id and status = 'running'
   for update;
  if found and v_is_leased then
    return query select * from job where id = v_id;
    return;
  end if;
  -- Its holder slept through the lease with the claim still on its lips: it takes that job again, and no other one
  -- under the same claim.
  if found and not v_may_go_on then
    return;
  end if;

  if not found then
    select id into v_id from job
     where region = p_region and status = 'running' and lease_until < clock_timestamp()
       and kind = any (p_capabilities) and attempt < max_attempts
     order by lease_until
     for update skip locked limit 1;
  end if;
  if not found then
    select j.id into v_id from job j
     where j.region = p_region and j.status = 'queued' and j.run_at <= clock_timestamp()
       and j.kind = any (p_capabilities)
       and not exists (select 1 from job r where r.resource_id = j.resource_id and r.status = 'running')
     order by j.priority, j.run_at, j.id
     for update skip locked limit 1;
    if not found then
      return;
    end if;
  end if;

  update job
     set status = 'running', epoch = epoch + 1, attempt = attempt + 1, last_seq = 0, claim_id = p_claim_id,
         agent_token_id = p_token_id, agent_name = p_agent_name, phase = null, error = null,
         lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds),
         started_at = coalesce(started_at, clock_timestamp())
   where id = v_id
  returning epoch into v_epoch;
  perform kule_queue_lock(v_id, v_epoch);
  return query select * from job where id = v_id;
end $$;
`;
