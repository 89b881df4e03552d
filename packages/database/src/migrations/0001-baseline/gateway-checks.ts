/** The commit checks of gateways and forwarded ports; see server-checks.ts. */
export const gatewayChecks = `
/* What is wrong with a gateway; null when nothing is, or when there is none such. */
create function kule_gateway_problem(p_organisation_id text, p_id text) returns text
language plpgsql stable security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_problem text;
begin
  select case
    when not exists (
        select 1 from public_ip i where i.organisation_id = g.organisation_id and i.gateway_id = g.id)
      then 'has no public address'
    when g.is_deleting and exists (
        select 1 from gateway_subnet u
         where u.organisation_id = g.organisation_id and u.gateway_id = g.id and u.left_generation is null)
      then 'is on its way out and serves a subnet'
    when g.is_deleting and exists (
        select 1 from port_forward f
         where f.organisation_id = g.organisation_id and f.gateway_id = g.id and f.left_generation is null)
      then 'is on its way out and forwards a port'
    when (g.is_deleting or g.observed_generation < g.generation) and g.status_code is null and not exists (
        select 1 from job j where j.organisation_id = g.organisation_id and j.resource_id = g.network_id
           and j.status in ('queued', 'running'))
      then 'is on its way and no job takes it there'
    end
    into v_problem from gateway g where g.organisation_id = p_organisation_id and g.id = p_id;
  return v_problem;
end $$;

create function kule_keep_gateway(p_organisation_id text, p_id text) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_problem text := kule_gateway_problem(p_organisation_id, p_id);
begin
  if v_problem is not null then
    perform kule_refuse_commit('gateway_kept', 'gateway ' || p_id || ' ' || v_problem);
  end if;
end $$;

create function kule_gateway_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_row jsonb := case tg_op when 'INSERT' then to_jsonb(new) else to_jsonb(old) end;
begin
  perform kule_keep_gateway(v_row ->> 'organisation_id', v_row ->> case tg_table_name
    when 'gateway' then 'id' else 'gateway_id' end);
  return null;
end $$;
create constraint trigger gateway_kept_insert after insert or update on gateway deferrable initially deferred
  for each row execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_address_update after update on public_ip deferrable initially deferred
  for each row when (old.gateway_id is not null and old.gateway_id is distinct from new.gateway_id)
  execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_address_delete after delete on public_ip deferrable initially deferred
  for each row when (old.gateway_id is not null) execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_subnet after insert or update on gateway_subnet deferrable initially deferred
  for each row execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_forward after insert or update on port_forward deferrable initially deferred
  for each row execute function kule_gateway_at_commit();

create function kule_gateway_job_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_gateway(g.organisation_id, g.id) from gateway g
    where g.organisation_id = new.organisation_id and g.network_id = new.resource_id;
  return null;
end $$;
create constraint trigger gateway_kept_job after update on job deferrable initially deferred
  for each row when (new.resource_type = 'network' and old.status in ('queued', 'running')
                     and new.status not in ('queued', 'running'))
  execute function kule_gateway_job_at_commit();

/* Where a forwarded port leads: to its server, and while the edge may still forward it to nobody else. */
create function kule_keep_port_forwards(p_organisation_id text, p_subnet_id text, p_address inet) returns void
language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_found record;
begin
  for v_found in
    select f.id, f.server_id, f.left_generation is null as is_kept, (
             select n.server_id from address a
               join nic n on n.organisation_id = a.organisation_id and n.id = a.nic_id
              where a.organisation_id = f.organisation_id and a.subnet_id = f.subnet_id
                and a.address = f.target_address) as holder
      from port_forward f
     where f.organisation_id = p_organisation_id and f.subnet_id = p_subnet_id and f.target_address = p_address
  loop
    if v_found.holder <> v_found.server_id then
      perform kule_refuse_commit('port_forward_kept', 'port forward ' || v_found.id || ' leads to another server');
    elsif v_found.is_kept and v_found.holder is null then
      perform kule_refuse_commit('port_forward_kept', 'port forward ' || v_found.id || ' leads to nobody');
    end if;
  end loop;
end $$;

create function kule_port_forward_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_port_forwards(new.organisation_id, new.subnet_id, new.target_address);
  return null;
end $$;
create constraint trigger port_forward_kept after insert or update on port_forward deferrable initially deferred
  for each row execute function kule_port_forward_at_commit();

create function kule_forwarded_address_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_port_forwards(new.organisation_id, new.subnet_id, new.address);
  return null;
end $$;
create constraint trigger port_forward_kept_address after update on address deferrable initially deferred
  for each row when (old.nic_id is distinct from new.nic_id) execute function kule_forwarded_address_at_commit();
`;
