/**
 * The commit checks of public addresses; see server-checks.ts.
 *
 * An address that another server's VM may still have configured waits only for that server's job. Its next server may
 * have no job meanwhile: a job that was cancelled for a removal, which was then cancelled itself, is created again
 * when the address is free to be attached.
 */
export const publicIpChecks = `
/* What is wrong with a public IP; null when nothing is, or when there is none such. */
create function kule_public_ip_problem(p_id text) returns text
language plpgsql stable security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_problem text;
begin
  select case
    when not exists (select 1 from public_address a
                      where a.public_ip_id = i.id and a.address = i.address and a.pool_id = i.pool_id
                        and a.state = 'used' and a.allocated_to = i.organisation_id)
      then 'has not its address in its pool'
    when exists (select 1 from server s where s.id in (i.server_id, i.held_by) and s.status = 'deleted')
      then 'is of a server that is deleted'
    when i.server_id is not null and exists (
        select 1 from nic n join subnet u on u.id = n.subnet_id where n.server_id = i.server_id and u.tier = 'data')
      then 'would give a server in a data subnet egress'
    when i.load_balancer_id is not null and not exists (
        select 1 from load_balancer b where b.organisation_id = i.organisation_id and b.id = i.load_balancer_id
           and b.ha and b.public_ip_id = i.id)
      then 'is said to be of a load balancer that does not have it'
    when i.load_balancer_id is not null and exists (
        select 1 from load_balancer b
          join subnet u on u.organisation_id = b.organisation_id and u.id = b.subnet_id
         where u.tier = 'data' and b.organisation_id = i.organisation_id and b.id = i.load_balancer_id)
      then 'would give servers in a data subnet egress'
    -- Being attached or detached: a job does it, or the status has the reason why none does.
    when i.status_code is null and i.server_id = i.held_by and not i.is_applied and not exists (
        select 1 from server s where s.id = i.server_id and s.status in ('pending_deletion', 'deleting'))
      and not exists (
        select 1 from job j where j.organisation_id = i.organisation_id and j.resource_id = i.server_id
           and j.status in ('queued', 'running'))
      then 'is to be attached and no job takes it there'
    when i.status_code is null and i.held_by is distinct from i.server_id and not exists (
        select 1 from server s where s.id = i.held_by and s.status in ('pending_deletion', 'deleting'))
      and not exists (
        select 1 from job j where j.organisation_id = i.organisation_id and j.resource_id = i.held_by
           and j.status in ('queued', 'running'))
      then 'is to be detached and no job takes it away'
    end
    into v_problem from public_ip i where i.id = p_id;
  return v_problem;
end $$;

create function kule_keep_public_ip(p_id text) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_problem text := kule_public_ip_problem(p_id);
begin
  if v_problem is not null then
    perform kule_refuse_commit('public_ip_kept', 'public IP ' || p_id || ' ' || v_problem);
  end if;
end $$;

create function kule_public_ip_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_public_ip(new.id);
  return null;
end $$;
create constraint trigger public_ip_kept_insert after insert on public_ip deferrable initially deferred
  for each row execute function kule_public_ip_at_commit();
create constraint trigger public_ip_kept_update after update on public_ip deferrable initially deferred
  for each row when ((old.address, old.pool_id, old.server_id, old.held_by, old.load_balancer_id, old.is_applied, old.status_code)
                     is distinct from (new.address, new.pool_id, new.server_id, new.held_by, new.load_balancer_id, new.is_applied, new.status_code))
  execute function kule_public_ip_at_commit();

/* An address that is used has its public IP by its own constraints; what is left to see is who loses one. */
create function kule_public_address_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.public_ip_id is not null then
    perform kule_keep_public_ip(old.public_ip_id);
  end if;
  if tg_op <> 'DELETE' and new.public_ip_id is not null then
    perform kule_keep_public_ip(new.public_ip_id);
  end if;
  return null;
end $$;
create constraint trigger public_address_kept_update after update on public_address deferrable initially deferred
  for each row when ((old.address, old.pool_id, old.public_ip_id, old.allocated_to)
                     is distinct from (new.address, new.pool_id, new.public_ip_id, new.allocated_to))
  execute function kule_public_address_at_commit();
create constraint trigger public_address_kept_delete after delete on public_address deferrable initially deferred
  for each row when (old.public_ip_id is not null) execute function kule_public_address_at_commit();

/* A server that goes, or comes back from its removal buffer, and a job that ends: the server's public IPs must be right. */
create function kule_public_ips_of_server_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_server_id text := case when tg_table_name = 'server' then to_jsonb(new) ->> 'id'
                           else to_jsonb(new) ->> 'resource_id' end;
begin
  perform kule_keep_public_ip(i.id) from public_ip i where i.server_id = v_server_id or i.held_by = v_server_id;
  return null;
end $$;
create constraint trigger server_public_ips_kept after update on server deferrable initially deferred
  for each row when (old.status is distinct from new.status
                     and (new.status = 'deleted' or old.status in ('pending_deletion', 'deleting')))
  execute function kule_public_ips_of_server_at_commit();
create constraint trigger job_public_ips_kept after update on job deferrable initially deferred
  for each row when (new.resource_type = 'server' and old.status in ('queued', 'running')
                     and new.status not in ('queued', 'running'))
  execute function kule_public_ips_of_server_at_commit();
`;
