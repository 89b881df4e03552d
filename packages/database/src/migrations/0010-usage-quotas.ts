import { isolateTenants } from "./tenant-isolation.ts";

/** Usage as half-open segments, an organisation's quotas, and regions without an agent. */
export const usageAndQuotas = `
-- Where an event comes from: the end of a job, what inventory saw, or a request that changes nothing in a region.
alter table usage_event add column source text not null default 'verify'
  check (source in ('verify', 'reconcile', 'request'));
alter table usage_event add unique (organisation_id, id);

-- What was held from when to when: [started_at, ended_at), null is until now. Derived from the events by a trigger, in
-- the transaction that writes them; nobody else can write here.
create table usage_segment (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null,
  resource_type text not null,
  resource_id text not null,
  resource_name text not null,
  kind text not null check (kind in ('compute', 'disk', 'public_ip')),
  package text,
  quantity jsonb not null,
  labels jsonb not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  opened_by text not null,
  closed_by text,
  unique (organisation_id, id),
  foreign key (organisation_id, opened_by) references usage_event (organisation_id, id),
  foreign key (organisation_id, closed_by) references usage_event (organisation_id, id),
  check (ended_at >= started_at),
  check ((ended_at is null) = (closed_by is null)),
  constraint usage_segment_overlap exclude using gist (
    resource_id with =, kind with =, tstzrange(started_at, ended_at) with &&)
);
create unique index usage_segment_one_open on usage_segment (resource_id, kind) where ended_at is null;
create index usage_segment_list on usage_segment (organisation_id, started_at, id);
create index usage_segment_window on usage_segment (organisation_id, ended_at);
create index usage_event_at on usage_event (organisation_id, at);

-- Ends the segment, if one is open; says whether one was.
create function kule_usage_close(p_event usage_event, p_kind text) returns boolean
language plpgsql set search_path = public, pg_temp as $$
begin
  update usage_segment set ended_at = greatest(p_event.at, started_at), closed_by = p_event.id
   where organisation_id = p_event.organisation_id and resource_id = p_event.resource_id and kind = p_kind
     and ended_at is null;
  return found;
end $$;

create function kule_usage_open(p_event usage_event, p_kind text) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_measures text[] := case p_kind when 'compute' then array['vcpu', 'memory_mb']
                                   when 'disk' then array['disk_gb'] else array['count'] end;
begin
  perform kule_usage_close(p_event, p_kind);
  insert into usage_segment (id, organisation_id, region, resource_type, resource_id, resource_name, kind, package,
                             quantity, labels, started_at, opened_by)
  values ('seg_' || substr(p_event.id, 5) || '_' || p_kind, p_event.organisation_id, p_event.region,
          p_event.resource_type, p_event.resource_id, p_event.resource_name, p_kind, p_event.package,
          (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(p_event.quantity)
            where key = any (v_measures)),
          p_event.labels, p_event.at, p_event.id);
end $$;

create function kule_usage_derive(p_event usage_event) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
  case p_event.kind
    when 'server.started' then perform kule_usage_open(p_event, 'compute');
    when 'server.stopped' then perform kule_usage_close(p_event, 'compute');
    -- A stopped server has no compute to change, and its next start takes the new figures.
    when 'server.resized' then
      if kule_usage_close(p_event, 'compute') then perform kule_usage_open(p_event, 'compute'); end if;
      if kule_usage_close(p_event, 'disk') then perform kule_usage_open(p_event, 'disk'); end if;
    when 'disk.allocated' then perform kule_usage_open(p_event, 'disk');
    when 'disk.released' then perform kule_usage_close(p_event, 'disk');
    when 'public_ip.allocated' then perform kule_usage_open(p_event, 'public_ip');
    when 'public_ip.released' then perform kule_usage_close(p_event, 'public_ip');
    else null;
  end case;
end $$;

create function kule_usage_recorded() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_usage_derive(new);
  return null;
end $$;
create trigger usage_recorded after insert on usage_event for each row execute function kule_usage_recorded();

do $$
declare
  v_event usage_event;
begin
  for v_event in select * from usage_event order by organisation_id, seq loop
    perform kule_usage_derive(v_event);
  end loop;
end $$;

${isolateTenants("usage_segment")}
grant select on usage_segment to kule_api;

-- Most an organisation may have of each; null is no limit. Counted from the rows, under this row's lock, like
-- server_limit.
alter table organisation
  add column vcpu_limit integer check (vcpu_limit >= 0),
  add column memory_mb_limit integer check (memory_mb_limit >= 0),
  add column disk_gb_limit integer check (disk_gb_limit >= 0),
  add column network_limit integer check (network_limit >= 0),
  add column subnet_limit integer check (subnet_limit >= 0),
  add column ssh_key_limit integer check (ssh_key_limit >= 0),
  add column public_ip_limit integer check (public_ip_limit >= 0);

-- A region of mode direct has no agent: the control plane's worker does its jobs.
alter table region drop constraint region_mode_check;
alter table region add constraint region_mode_check check (mode in ('agent', 'direct'));

-- The queue entries of direct regions have a task name of their own.
create or replace function kule_queue_add(p_job_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_job job;
  v_mode text;
begin
  select * into strict v_job from job where id = p_job_id and status = 'queued';
  select mode into strict v_mode from region where slug = v_job.region;
  perform graphile_worker.add_job(
    case v_mode when 'direct' then 'direct:' else 'region:' end || v_job.region,
    json_build_object('job_id', v_job.id),
    run_at => v_job.run_at,
    max_attempts => 1000,
    job_key => v_job.id,
    priority => v_job.priority
  );
end $$;

revoke execute on all functions in schema public from public;
`;
