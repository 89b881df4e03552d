/** The commit checks of networks, subnets and VLANs; see server-checks.ts. */
export const networkChecks = `
create function kule_subnet_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_subnet_id text := case when tg_table_name = 'subnet' then to_jsonb(new) ->> 'id'
                           else to_jsonb(old) ->> 'subnet_id' end;
begin
  perform 1 from subnet u
    where u.id = v_subnet_id
      and not exists (select 1 from region_vlan v where v.subnet_id = u.id and v.region = u.region);
  if found then
    perform kule_refuse_commit('subnet_kept', 'subnet ' || v_subnet_id || ' has no VLAN of its region');
  end if;
  return null;
end $$;
create constraint trigger subnet_kept after insert on subnet deferrable initially deferred
  for each row execute function kule_subnet_at_commit();
create constraint trigger subnet_kept_vlan after update or delete on region_vlan deferrable initially deferred
  for each row when (old.subnet_id is not null) execute function kule_subnet_at_commit();

create function kule_vlan_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform 1 from region_vlan v
    where v.region = new.region and v.vlan = new.vlan and v.subnet_id is not null and not exists (
      select 1 from subnet u where u.id = v.subnet_id and u.region = v.region);
  if found then
    perform kule_refuse_commit('vlan_owned', 'VLAN ' || new.vlan || ' of ' || new.region || ' is of no subnet of the region');
  end if;
  return null;
end $$;
create constraint trigger vlan_owned after insert or update on region_vlan deferrable initially deferred
  for each row when (new.subnet_id is not null) execute function kule_vlan_at_commit();

/*
 * What is on its way has a job that takes it there. What is to go may also have one that has failed and can be tried
 * again: until then it keeps what it has.
 */
create function kule_network_problem(p_network_id text) returns text
language sql stable security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
  select case
    when exists (select 1 from job j where j.organisation_id = n.organisation_id and j.resource_id = n.id
                    and j.kind = 'NetworkApply' and j.status in ('queued', 'running')) then null
    when n.status in ('provisioning', 'updating') then 'is ' || n.status || ' and no job takes it there'
    when exists (select 1 from subnet u where u.organisation_id = n.organisation_id and u.network_id = n.id
                    and u.status in ('provisioning', 'updating'))
      then 'has a subnet on its way and no job takes it there'
    when (n.status = 'deleting' or exists (
            select 1 from subnet u where u.organisation_id = n.organisation_id and u.network_id = n.id
               and u.status = 'deleting'))
      and not exists (select 1 from job j where j.organisation_id = n.organisation_id and j.resource_id = n.id
                         and j.kind = 'NetworkApply' and j.status in ('failed', 'cancelled'))
      then 'is to give something up and no job takes it' end
    from network n where n.id = p_network_id
$$;

create function kule_network_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_id text := case tg_table_name when 'network' then to_jsonb(new) ->> 'id'
                                  when 'subnet' then to_jsonb(new) ->> 'network_id'
                                  else to_jsonb(new) ->> 'resource_id' end;
  v_problem text := kule_network_problem(v_id);
begin
  if v_problem is not null then
    perform kule_refuse_commit('network_kept', 'network ' || v_id || ' ' || v_problem);
  end if;
  return null;
end $$;
create constraint trigger network_kept_insert after insert on network deferrable initially deferred
  for each row when (new.status <> 'active') execute function kule_network_at_commit();
create constraint trigger network_kept_update after update on network deferrable initially deferred
  for each row when (old.status is distinct from new.status) execute function kule_network_at_commit();
create constraint trigger network_kept_subnet after update on subnet deferrable initially deferred
  for each row when (old.status is distinct from new.status) execute function kule_network_at_commit();
create constraint trigger network_kept_subnet_insert after insert on subnet deferrable initially deferred
  for each row when (new.status <> 'active') execute function kule_network_at_commit();

create function kule_network_job_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform 1 from job j where j.id = new.id and j.status in ('queued', 'running') and not exists (
    select 1 from network n
     where n.id = j.resource_id and n.organisation_id = j.organisation_id and n.region = j.region);
  if found then
    perform kule_refuse_commit('job_owned', 'job ' || new.id || ' is for no network of its organisation and region');
  end if;
  return null;
end $$;
create constraint trigger job_owned_network_insert after insert on job deferrable initially deferred
  for each row when (new.resource_type = 'network' and new.status in ('queued', 'running'))
  execute function kule_network_job_at_commit();
-- Claims and reports change none of these columns, so they do not run this check.
create constraint trigger job_owned_network_update after update on job deferrable initially deferred
  for each row when (new.resource_type = 'network'
    and old.status not in ('queued', 'running') and new.status in ('queued', 'running'))
  execute function kule_network_job_at_commit();
create constraint trigger network_kept_job after update on job deferrable initially deferred
  for each row when (new.resource_type = 'network'
    and old.status in ('queued', 'running') and new.status not in ('queued', 'running'))
  execute function kule_network_at_commit();

create function kule_network_gone_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform 1 from job j where j.organisation_id = old.organisation_id and j.resource_id = old.id
     and j.status in ('queued', 'running');
  if found then
    perform kule_refuse_commit('job_owned', 'network ' || old.id || ' is gone and has an open job');
  end if;
  return null;
end $$;
create constraint trigger job_owned_network_gone after delete on network deferrable initially deferred
  for each row execute function kule_network_gone_at_commit();

/* An interface, a filter or an attachment refers to its subnet, which is a lock: who deletes it comes before or after. */
create function kule_subnet_open_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_row jsonb := to_jsonb(new);
begin
  perform 1 from subnet u where u.id = v_row ->> 'subnet_id' and u.status = 'deleting';
  if found then
    perform kule_refuse_commit('subnet_open', 'subnet ' || (v_row ->> 'subnet_id') || ' is being deleted');
  end if;
  perform 1 from network n where n.id = v_row ->> 'network_id' and n.status = 'deleting';
  if found then
    perform kule_refuse_commit('subnet_open', 'network ' || (v_row ->> 'network_id') || ' is being deleted');
  end if;
  return null;
end $$;
`;
