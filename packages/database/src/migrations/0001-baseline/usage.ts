import { isolateTenants } from "../tenant-isolation.ts";
import { labelledRows } from "./label-terms.ts";

/** Usage: events, which the API's role can only append, and the half-open segments that a trigger derives from them. */
export const usage = `
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
  -- What a managed server belonged to then.
  managed_by_type text,
  managed_by_id text,
  managed_by_name text,
  package text,
  quantity jsonb not null,
  labels jsonb not null default '{}',
  job_id text,
  -- The source of an event: the end of a job, a scan of the inventory, a request that changes nothing in a region, what
  -- was measured in a region, or an operator who corrects an error that a region caused.
  source text not null default 'verify' check (source in ('verify', 'reconcile', 'request', 'meter', 'correction')),
  -- A failed job may be retried, and both ends may have usage to count: a server that was switched off twice, a disk that
  -- grew in two steps. Unique is the event of a kind for each claim of a job.
  epoch integer not null default 0,
  -- The segment whose quantity an event usage.corrected changes: so the segments still add up, and the events still explain
  -- them.
  corrects text,
  reason text,
  unique (organisation_id, seq),
  unique (organisation_id, id),
  foreign key (organisation_id, job_id) references job (organisation_id, id),
  constraint usage_event_corrected check ((kind = 'usage.corrected') = (corrects is not null))
);
-- A repeated settlement cannot bill twice.
create unique index usage_event_once on usage_event (job_id, epoch, resource_id, kind);
-- A resource has one organisation. By the resource alone, the invariants can be read for some of them at a time.
create index usage_event_resource on usage_event (resource_id, seq);
create index usage_event_of on usage_event (organisation_id, region, kind, seq);
create index usage_event_owner on usage_event (organisation_id, managed_by_id, seq) where managed_by_id is not null;
create index usage_event_at on usage_event (organisation_id, at);
${labelledRows("usage_event")}
grant select, insert on usage_event to kule_api;
${isolateTenants("usage_event")}

-- What was used from when to when: [started_at, ended_at), null means until now. A trigger derives it from the events, in
-- the transaction that writes them; nothing else can write here.
create table usage_segment (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null,
  resource_type text not null,
  resource_id text not null,
  resource_name text not null,
  managed_by_type text,
  managed_by_id text,
  managed_by_name text,
  kind text not null check (kind in ('compute', 'disk', 'public_ip')),
  package text,
  quantity jsonb not null,
  labels jsonb not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  -- The resource, or the owner of a managed server: what a summary by resource shows.
  counted_under text not null generated always as (coalesce(managed_by_id, resource_id)) stored,
  -- The first day of the month (UTC) in which it ended.
  ended_month date generated always as ((date_trunc('month', ended_at at time zone 'UTC'))::date) stored,
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
create index usage_segment_of on usage_segment (organisation_id, region, kind, started_at, id);
create index usage_segment_owner on usage_segment (organisation_id, managed_by_id, started_at, id)
  where managed_by_id is not null;
-- A summary by resource reads the segments of the resources on its page: of those that have ended, the ones of a month, since old ones
-- are many more than those of any window.
create index usage_segment_open on usage_segment (organisation_id, region, counted_under) where ended_at is null;
create index usage_segment_ended on usage_segment (organisation_id, region, ended_month, counted_under)
  where ended_at is not null;
create index usage_segment_window on usage_segment (organisation_id, ended_at);
${labelledRows("usage_segment")}
grant select on usage_segment to kule_api;
${isolateTenants("usage_segment")}
-- The two tables refer to each other.
alter table usage_event add constraint usage_event_corrects foreign key (organisation_id, corrects)
  references usage_segment (organisation_id, id);

-- Ends the segment, if one is open; returns whether one was.
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
  insert into usage_segment (id, organisation_id, region, resource_type, resource_id, resource_name,
                             managed_by_type, managed_by_id, managed_by_name, kind, package,
                             quantity, labels, started_at, opened_by)
  values ('seg_' || substr(p_event.id, 5) || '_' || p_kind, p_event.organisation_id, p_event.region,
          p_event.resource_type, p_event.resource_id, p_event.resource_name,
          p_event.managed_by_type, p_event.managed_by_id, p_event.managed_by_name, p_kind, p_event.package,
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
    -- A stopped server has no compute segment to change, and its next start uses the new sizes.
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
  if new.kind = 'usage.corrected' then
    update usage_segment set quantity = new.quantity
     where organisation_id = new.organisation_id and id = new.corrects and resource_id = new.resource_id;
  else
    perform kule_usage_derive(new);
  end if;
  return null;
end $$;
create trigger usage_recorded after insert on usage_event for each row execute function kule_usage_recorded();
`;
