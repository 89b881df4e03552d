/**
 * Chooses the job of a claim into v_id, or returns from the claim. "= null" is never true, and a condition that is right for
 * both would have no index, so the statements are there twice.
 *
 * The region leads in the order of the queue although it is one: from "region is null" the planner does not conclude that,
 * and it would sort all that wait.
 */
const chooseJob = (isOfRegion: "region = p_region" | "region is null"): string => `
    select id, lease_until > clock_timestamp(), attempt < max_attempts into v_id, v_is_leased, v_may_go_on from job
     where ${isOfRegion} and claim_id = p_claim_id and status = 'running'
     for update;
    if found and v_is_leased then
      return query select * from job where id = v_id;
      return;
    end if;
    -- The holder's lease has expired while its claim was still unanswered: the same claim gets the same job again, and no
    -- other one.
    if found and not v_may_go_on then
      return;
    end if;

    if not found then
      select id into v_id from job
       where ${isOfRegion} and status = 'running' and lease_until < clock_timestamp()
         and kind = any (p_capabilities) and attempt < max_attempts
       order by lease_until
       for update skip locked limit 1;
    end if;
    if not found then
      select j.id into v_id from job j
       where j.${isOfRegion} and j.status = 'queued' and j.run_at <= clock_timestamp()
         and j.kind = any (p_capabilities)
         -- What was to be destroyed before a restore of the database waits until an operator has ended it: by the records
         -- a server is to go, or a zone, that may be somebody's again.
         and (v_restored_at is null or j.created_at > v_restored_at
              or j.kind <> 'ServerDestroy'
                 and not exists (select 1 from domain d where d.id = j.resource_id and d.status = 'deleting'))
         and not exists (select 1 from job r where r.resource_id = j.resource_id and r.status = 'running')
       order by j.region, j.priority, j.run_at, j.id
       for update skip locked limit 1;
      if not found then
        return;
      end if;
    end if;`;

/**
 * The fenced lease on graphile-worker's queue. The API's role has no right on graphile-worker's tables: it reaches
 * them only by these functions and those of worker.ts, which run with the owner's rights and a pinned search path.
 */
export const jobQueue = `
-- The queue entry of a job; an entry that is there gets the job's time. Those of direct regions have a task name of their own,
-- and those of the control plane, which have no region.
-- Not by graphile's add_job: it plans its statements anew at each call, and its NOTIFY, which wakes nobody here since
-- no runner of graphile's has these tasks, would make the transactions of all creates commit one after the other.
create function kule_queue_add(p_job_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_job job;
  v_task text;
  v_task_id integer;
begin
  select * into strict v_job from job where id = p_job_id and status = 'queued';
  if v_job.region is null then
    v_task := 'control-plane';
  else
    select case mode when 'direct' then 'direct:' else 'region:' end || slug into strict v_task
      from region where slug = v_job.region;
  end if;
  select id into v_task_id from graphile_worker._private_tasks where identifier = v_task;
  if not found then
    insert into graphile_worker._private_tasks (identifier) values (v_task)
      on conflict (identifier) do update set identifier = excluded.identifier
      returning id into v_task_id;
  end if;
  insert into graphile_worker._private_jobs (task_id, payload, run_at, max_attempts, key, priority)
  values (v_task_id, json_build_object('job_id', v_job.id), v_job.run_at, 1000, v_job.id, v_job.priority)
  on conflict (key) do update set run_at = excluded.run_at, updated_at = now();
end $$;

-- Locked in graphile's own columns too, so that its 4-hour sweep and dashboards see the lock.
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

-- Returns the entry to the queue, for the job's run_at. Only the entry of the current holder changes: graphile's own
-- completion has no such test, which is why Kule never uses it for region jobs.
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

/*
 * The next job for an agent of the region, or nothing. Without a region the next one of the control plane itself, for a worker.
 * Time is Postgres' clock only.
 *   1. the same claim again: its reply was lost, so the same job goes out, under a new epoch if the lease is over;
 *   2. a job whose holder let the lease pass;
 *   3. the first queued job whose resource has no running one.
 * Attempts that are used up are left for the reaper, so that a poisonous job cannot circle.
 */
create function kule_claim_job(
  p_region text, p_token_id text, p_agent_name text, p_claim_id text, p_capabilities text[], p_lease_seconds integer
) returns setof job language plpgsql
-- The bench measured a claim that took twenty times as long (23 ms) when another region had just got 100,000 jobs, and
-- 0.8 ms with these settings. A plan from before the burst would explain it; a smaller test did not reproduce it. The
-- partial indexes are right at any size, so the planner is left no other choice.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  v_id text;
  v_epoch integer;
  v_is_leased boolean;
  v_may_go_on boolean;
  v_is_closed boolean;
  v_restored_at timestamptz;
begin
  -- In maintenance, or not scanned since the database was restored.
  select maintenance or restored_at is not null and restore_scanned_at is null,
         case when restore_ended_at is null then restored_at end
    into v_is_closed, v_restored_at from region where slug = p_region;
  if v_is_closed then
    return;
  end if;

  if p_region is null then
    select max(restored_at) into v_restored_at from region where restored_at is not null and restore_ended_at is null;
  end if;
  if p_region is not null then
    ${chooseJob("region = p_region")}
  else
    ${chooseJob("region is null")}
  end if;

  update job
     set status = 'running', attempt = attempt + 1, last_seq = 0, claim_id = p_claim_id,
         agent_token_id = p_token_id, agent_name = p_agent_name, phase = null, error = null,
         -- Above all that were given out after the moment of a restored backup: those are not known any more.
         epoch = greatest(epoch, coalesce((select max(epoch_floor) from restore), 0)) + 1,
         lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds),
         started_at = coalesce(started_at, clock_timestamp())
   where id = v_id
  returning epoch into v_epoch;
  perform kule_queue_lock(v_id, v_epoch);
  return query select * from job where id = v_id;
end $$;

/*
 * Records the steps of one report in their order; the last one has the report's number, those before it the numbers before.
 * Each is { phase, name, status, message, external_ref }. Returns how many rows were added, at most p_room: steps beyond it
 * are not kept. The job's row must be locked.
 *
 * A step is one row: reported as running it begins, reported again by its name it ends. A program observes before it
 * plans and after it has acted, so whatever it does next, that observation has ended.
 */
create function kule_record_steps(
  p_organisation_id text, p_job_id text, p_epoch integer, p_seq integer, p_attempt integer, p_steps jsonb, p_room integer
) returns integer language plpgsql set search_path = public, pg_temp as $$
declare
  v_step jsonb;
  v_first integer := p_seq - jsonb_array_length(p_steps) + 1;
  v_added integer := 0;
begin
  for v_position in 0 .. jsonb_array_length(p_steps) - 1 loop
    v_step := p_steps -> v_position;
    update job_step
       set status = v_step ->> 'status', message = coalesce(v_step ->> 'message', message),
           finished_at = case when v_step ->> 'status' <> 'running' then clock_timestamp() end,
           external_ref = coalesce(v_step ->> 'external_ref', external_ref)
     where organisation_id = p_organisation_id and job_id = p_job_id and epoch = p_epoch
       and name = v_step ->> 'name' and status = 'running';
    if not found then
      update job_step set status = 'succeeded', finished_at = clock_timestamp()
       where organisation_id = p_organisation_id and job_id = p_job_id and epoch = p_epoch and status = 'running'
         and name in ('observe', 'verify');
      if v_added < p_room then
        -- A number that is taken: the holder does not count as it should, and its report counts all the same.
        insert into job_step (job_id, organisation_id, epoch, seq, attempt, phase, name, status, message, external_ref,
                              finished_at)
        values (p_job_id, p_organisation_id, p_epoch, v_first + v_position, p_attempt, v_step ->> 'phase',
                v_step ->> 'name', v_step ->> 'status', v_step ->> 'message', v_step ->> 'external_ref',
                case when v_step ->> 'status' <> 'running' then clock_timestamp() end)
        on conflict do nothing;
        v_added := v_added + 1;
      end if;
    end if;
  end loop;
  return v_added;
end $$;

/*
 * Records the report of a job's holder that does not end its attempt: the job's phase, progress and lease, and the steps
 * that begin or end. Returns the job; nothing when the caller does not hold it, or when the report was recorded before.
 *
 * Without a wait for the disk where p_waits_for_disk is false: then what a crash of the database loses is progress, and a
 * lease that ends a little earlier.
 */
create function kule_report_progress(
  p_organisation_id text, p_job_id text, p_epoch integer, p_seq integer, p_phase text, p_progress integer,
  p_irreversible boolean, p_lease_seconds integer, p_steps jsonb, p_max_steps integer,
  p_waits_for_disk boolean
) returns setof job language plpgsql set search_path = public, pg_temp as $$
declare
  v_job job;
  v_added integer;
begin
  select * into v_job from job
   where organisation_id = p_organisation_id and id = p_job_id and epoch = p_epoch and last_seq < p_seq
     and status = 'running' and lease_until > clock_timestamp()
  for update;
  if not found then
    return;
  end if;
  v_added := kule_record_steps(p_organisation_id, p_job_id, p_epoch, p_seq, v_job.attempt, p_steps,
                               p_max_steps - v_job.step_count);
  update job
     set last_seq = p_seq, phase = coalesce(p_phase, phase), progress = greatest(progress, p_progress),
         irreversible = irreversible or p_irreversible, step_count = step_count + v_added,
         lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds)
   where organisation_id = p_organisation_id and id = p_job_id
  returning * into v_job;
  perform kule_queue_renew(p_job_id, p_epoch);
  if not p_waits_for_disk then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return next v_job;
end $$;

grant execute on function
  kule_report_progress(text, text, integer, integer, text, integer, boolean, integer, jsonb, integer, boolean),
  kule_record_steps(text, text, integer, integer, integer, jsonb, integer),
  kule_queue_add(text), kule_queue_lock(text, integer), kule_queue_renew(text, integer),
  kule_queue_release(text, integer), kule_queue_finish(text, integer),
  kule_claim_job(text, text, text, text, text[], integer)
to kule_api;
`;
