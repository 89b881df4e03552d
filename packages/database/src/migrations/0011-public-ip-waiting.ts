/**
 * An address that another server's VM may still have waits for that server's job alone. Its next server may have no job
 * meanwhile: one that gave way to a removal which was taken back is written anew when the address is free to go there.
 */
export const publicIpWaiting = `
create or replace function kule_public_ip_problem(p_id text) returns text
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
    -- On its way to a server or off one: a job takes it there, or the reason why none does is told.
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

revoke execute on all functions in schema public from public;
`;
