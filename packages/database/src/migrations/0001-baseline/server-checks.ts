/**
 * "No address without a job, no job without its allocation": a transaction that violates this cannot commit.
 *
 * The triggers check the rows at the end of the transaction, because a create or a destroy is consistent only as a
 * whole. They run with the owner's rights, so that rows which row-level security hides from the writer do not count
 * as absent.
 */
export const serverChecks = `
/* The kinds of job that take a server out of a status on its way; none for a status that lasts. A VM that is there is adopted. */
create function kule_server_way(p_status text) returns text[]
language sql immutable set search_path = public, pg_temp as $$
  select case p_status
    when 'creating' then array['ServerCreate', 'ServerAdopt']
    when 'starting' then array['ServerRestore', 'ServerStop', 'ServerPower']
    when 'stopping' then array['ServerRestore', 'ServerStop', 'ServerPower']
    when 'rebooting' then array['ServerPower']
    when 'resizing' then array['ServerResize']
    when 'rebuilding' then array['ServerRebuild']
    when 'deleting' then array['ServerDestroy'] end
$$;

/* What is wrong with a server's allocations and jobs; null when nothing is, or when there is no such server. */
create function kule_server_problem(p_server_id text) returns text
language plpgsql stable security definer set search_path = public, pg_temp
-- A session may have planned this while the tables were empty; the indexes are right at any size.
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
    -- A destroy that failed waits for an operator; until then the server keeps its allocations.
    when kule_server_way(s.status) is not null and not exists (
      select 1 from job j where j.organisation_id = s.organisation_id and j.resource_id = s.id
         and j.kind = any (kule_server_way(s.status))
         and (j.status in ('queued', 'running') or s.status = 'deleting' and j.status = 'failed'))
      then 'is ' || s.status || ' and no job takes it there' end
    into v_problem from server s where s.id = p_server_id;
  return v_problem;
end $$;

create function kule_keep_server(p_server_id text) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_problem text := kule_server_problem(p_server_id);
begin
  if v_problem is not null then
    perform kule_refuse_commit('server_kept', 'server ' || p_server_id || ' ' || v_problem);
  end if;
end $$;

create function kule_server_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    perform 1 from region_vmid where server_id = old.id and state = 'used';
    if found then
      perform kule_refuse_commit('server_kept', 'server ' || old.id || ' is gone and holds a VM number');
    end if;
  else
    perform kule_keep_server(new.id);
  end if;
  return null;
end $$;
create constraint trigger server_kept_insert after insert or delete on server deferrable initially deferred
  for each row execute function kule_server_at_commit();
create constraint trigger server_kept_update after update on server deferrable initially deferred
  for each row when (old.status is distinct from new.status or old.region is distinct from new.region)
  execute function kule_server_at_commit();

create function kule_vmid_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op <> 'DELETE' and new.state = 'used' then
    perform 1 from region_vmid v
      where v.region = new.region and v.vmid = new.vmid and v.state = 'used' and not exists (
        select 1 from server s where s.id = v.server_id and s.region = v.region and s.status <> 'deleted');
    if found then
      perform kule_refuse_commit('vmid_owned',
        'VM number ' || new.vmid || ' of ' || new.region || ' is used by no live server of the region');
    end if;
  end if;
  if tg_op <> 'INSERT' and old.state = 'used' then
    perform kule_keep_server(old.server_id);
  end if;
  return null;
end $$;
create constraint trigger vmid_owned_insert after insert on region_vmid deferrable initially deferred
  for each row when (new.state = 'used') execute function kule_vmid_at_commit();
create constraint trigger vmid_owned_update after update on region_vmid deferrable initially deferred
  for each row when ((old.state = 'used' or new.state = 'used') and old is distinct from new)
  execute function kule_vmid_at_commit();
create constraint trigger vmid_owned_delete after delete on region_vmid deferrable initially deferred
  for each row when (old.state = 'used') execute function kule_vmid_at_commit();

create function kule_nic_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op <> 'DELETE' then
    perform 1 from nic n where n.id = new.id and not exists (
      select 1 from server s where s.id = n.server_id and s.status <> 'deleted');
    if found then
      perform kule_refuse_commit('nic_owned', 'interface ' || new.id || ' is of no live server');
    end if;
  end if;
  if tg_op <> 'INSERT' then
    perform kule_keep_server(old.server_id);
  end if;
  return null;
end $$;
create constraint trigger nic_owned_insert after insert or delete on nic deferrable initially deferred
  for each row execute function kule_nic_at_commit();
create constraint trigger nic_owned_update after update on nic deferrable initially deferred
  for each row when ((old.server_id, old.subnet_id, old.position) is distinct from (new.server_id, new.subnet_id, new.position))
  execute function kule_nic_at_commit();

/* A used address has its interface by its own constraints; what is left to see is who loses one, or gets one of elsewhere. */
create function kule_address_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op <> 'INSERT' and old.nic_id is not null then
    perform kule_keep_server(n.server_id) from nic n where n.id = old.nic_id;
  end if;
  if tg_op <> 'DELETE' and new.nic_id is not null then
    perform 1 from address a join nic n on n.id = a.nic_id join subnet u on u.id = a.subnet_id
      where a.subnet_id = new.subnet_id and a.address = new.address
        and (n.subnet_id <> a.subnet_id or not a.address << u.cidr);
    if found then
      perform kule_refuse_commit('address_owned',
        'address ' || host(new.address) || ' is outside of the subnet of its interface');
    end if;
  end if;
  return null;
end $$;
create constraint trigger address_owned_insert after insert on address deferrable initially deferred
  for each row when (new.nic_id is not null) execute function kule_address_at_commit();
create constraint trigger address_owned_update after update on address deferrable initially deferred
  for each row when (old.nic_id is distinct from new.nic_id
                     or new.nic_id is not null and (old.subnet_id, old.address) is distinct from (new.subnet_id, new.address))
  execute function kule_address_at_commit();
create constraint trigger address_owned_delete after delete on address deferrable initially deferred
  for each row when (old.nic_id is not null) execute function kule_address_at_commit();

create function kule_job_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.status in ('queued', 'running') then
    perform 1 from job j where j.id = new.id and j.status in ('queued', 'running') and not exists (
      select 1 from server s
       where s.id = j.resource_id and s.organisation_id = j.organisation_id and s.region = j.region
         and s.status <> 'deleted');
    if found then
      perform kule_refuse_commit('job_owned', 'job ' || new.id || ' is for no live server of its organisation and region');
    end if;
  end if;
  if tg_op = 'UPDATE' and old.status in ('queued', 'running') then
    perform kule_keep_server(old.resource_id);
  end if;
  return null;
end $$;
create constraint trigger job_owned_insert after insert on job deferrable initially deferred
  for each row when (new.resource_type = 'server' and new.status in ('queued', 'running'))
  execute function kule_job_at_commit();
-- Claims and reports change none of these columns, so they do not run this check.
create constraint trigger job_owned_update after update on job deferrable initially deferred
  for each row when (new.resource_type = 'server' and (
    (old.status in ('queued', 'running')) is distinct from (new.status in ('queued', 'running'))
    or (old.resource_id, old.organisation_id, old.region, old.kind)
       is distinct from (new.resource_id, new.organisation_id, new.region, new.kind)))
  execute function kule_job_at_commit();
`;
