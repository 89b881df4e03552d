/**
 * What can be done to a server that is there: power, resize, rebuild. A job of these carries what was asked for, since
 * nothing else of the server says so: that it is to be reset, say, and not rebooted.
 */
export const serverOperations = `
alter table job add column parameters jsonb not null default '{}';

alter table server drop constraint server_status_check;
alter table server add constraint server_status_check check (status in (
  'creating', 'running', 'stopped', 'starting', 'stopping', 'rebooting', 'resizing', 'rebuilding',
  'pending_deletion', 'deleting', 'error', 'deleted'));
alter table server
  -- Null: as large as the package's. A resize sets it: a disk is never made smaller, whatever the package.
  add column disk_gb integer,
  -- What a resize under way takes along: until it ends, quotas count the larger of this and what the server has.
  add column resize_package text,
  add column resize_disk_gb integer,
  add column protect_rebuild boolean not null default false,
  add column locked_at timestamptz,
  add column locked_by jsonb,
  add column locked_reason text,
  add constraint server_locked check (
    (locked_at is null) = (locked_by is null) and (locked_at is null) = (locked_reason is null)),
  add constraint server_resize check ((resize_package is null) = (resize_disk_gb is null));

/* The kinds of job that take a server out of a status on its way; none for a status that lasts. */
create function kule_server_way(p_status text) returns text[]
language sql immutable set search_path = public, pg_temp as $$
  select case p_status
    when 'creating' then array['ServerCreate']
    when 'starting' then array['ServerRestore', 'ServerStop', 'ServerPower']
    when 'stopping' then array['ServerRestore', 'ServerStop', 'ServerPower']
    when 'rebooting' then array['ServerPower']
    when 'resizing' then array['ServerResize']
    when 'rebuilding' then array['ServerRebuild']
    when 'deleting' then array['ServerDestroy'] end
$$;

create or replace function kule_server_problem(p_server_id text) returns text
language plpgsql stable security definer set search_path = public, pg_temp
-- A session may have planned this while the tables were empty; the indexes are the right way at any size.
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_problem text;
begin
  select case
    when s.status = 'deleted' then case
      when exists (select 1 from region_vmid v where v.server_id = s.id and v.state = 'used')
        then 'is deleted and holds a VM number'
      when exists (select 1 from nic n where n.server_id = s.id) then 'is deleted and has an interface' end
    when not exists (select 1 from region_vmid v
                      where v.server_id = s.id and v.state = 'used' and v.region = s.region)
      then 'has no VM number of its region'
    when not exists (select 1 from nic n join address a on a.nic_id = n.id and a.subnet_id = n.subnet_id
                      where n.server_id = s.id and n.position = 0 and a.state = 'used')
      then 'has no address in its subnet'
    -- A destroy that failed waits for an operator; until then the server keeps what it has.
    when kule_server_way(s.status) is not null and not exists (
      select 1 from job j where j.organisation_id = s.organisation_id and j.resource_id = s.id
         and j.kind = any (kule_server_way(s.status))
         and (j.status in ('queued', 'running') or s.status = 'deleting' and j.status = 'failed'))
      then 'is ' || s.status || ' and no job takes it there' end
    into v_problem from server s where s.id = p_server_id;
  return v_problem;
end $$;

revoke execute on all functions in schema public from public;
`;
