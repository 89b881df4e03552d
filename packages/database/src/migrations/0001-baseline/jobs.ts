import { isolateTenants } from "../tenant-isolation.ts";

/** Jobs and their steps. They are history: the API's role cannot delete them. Old steps are removed by history.ts. */
export const jobs = `
create table job (
  id text primary key,
  organisation_id text not null references organisation (id),
  -- Null for a job of the control plane itself, which the worker does.
  region text references region (slug),
  kind text not null,
  resource_type text not null check (resource_type in ('server', 'network', 'subnet', 'public_ip', 'load_balancer', 'domain')),
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
  -- The requested action, where the resource does not show it: for example a reset of a server, and not a reboot.
  parameters jsonb not null default '{}',
  -- The number of reported steps, which is limited.
  step_count integer not null default 0,
  unique (organisation_id, id),
  check ((status = 'running') = (lease_until is not null)),
  check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null))
  -- Room for the reports of a running job: what they change is in no index, so a new version of the row that is on the same
  -- page needs no new entry in any of them.
) with (fillfactor = 75);
-- Per resource at most one job runs and at most one waits: this, not a queue, keeps them in order.
create unique index job_one_running on job (resource_id) where status = 'running';
create unique index job_one_queued on job (resource_id) where status = 'queued';
create index job_claim_queued on job (region, priority, run_at, id) where status = 'queued';
-- Also finds the running jobs of a region, of which those with an expired lease are chosen: an index of the lease would
-- have to change with every report.
create unique index job_claim_id on job (region, claim_id) nulls not distinct where status = 'running';
create index job_list on job (organisation_id, created_at desc, id desc);
create index job_list_of on job (organisation_id, region, kind, created_at desc, id desc);
create index job_list_ended_badly on job (organisation_id, status, created_at desc, id desc)
  where status in ('failed', 'cancelled');
create index job_list_resource on job (organisation_id, resource_id, created_at desc, id desc);
-- Operators list the jobs of all organisations, and those that failed: these are few among many, so they have their own
-- indexes.
create index job_failed on job (finished_at) where status = 'failed';
create index job_newest on job (created_at desc, id desc);
create index job_newest_of on job (region, kind, created_at desc, id desc);
create index job_newest_ended_badly on job (status, created_at desc, id desc) where status in ('failed', 'cancelled');
grant select, insert, update on job to kule_api;
${isolateTenants("job")}

create function kule_job_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    new.version := old.version + 1;
  end if;
  return new;
end $$;
create trigger job_changed before update on job for each row execute function kule_job_changed();

-- Notifies the connection that made the change, which announces it after the commit. A NOTIFY from
-- here would be in the transaction, and Postgres lets only one transaction with a NOTIFY commit at a time, disk flush
-- included, so every claim and report would queue for it (ADR 0008).
create function kule_job_announce() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    raise notice using errcode = 'KN001', message = new.id;
  end if;
  -- Announces possible work to the waiting claims of the region: a new job, or the end of a job that
  -- another one waited for. The control plane's own jobs are announced under the empty name, which no region has.
  if new.status = 'queued' or (tg_op = 'UPDATE' and old.status = 'running' and new.status <> 'running') then
    raise notice using errcode = 'KN002', message = coalesce(new.region, '');
  end if;
  return null;
end $$;
create trigger job_announce after insert or update on job for each row execute function kule_job_announce();

-- Partitioned by month (history.ts): an identifier begins with its time, so the steps of a job are in one partition, and
-- the key needs no other column. In collation "C" the order of identifiers is the order of their times everywhere.
create table job_step (
  job_id text collate "C" not null,
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
) partition by range (job_id);
grant select, insert, update on job_step to kule_api;
${isolateTenants("job_step")}
`;
