import { isolateTenants } from "./tenant-isolation.ts";

/**
 * Public addresses. A pool's addresses have a row each from the day their range is added, as VM numbers and VLANs have:
 * taking one is an update that skips locked rows, and the primary key keeps an address from being in two ranges.
 *
 * `public_address` is the installation's stock and belongs to no organisation, though an address may be allocated to
 * one; `public_ip` is what an organisation has taken of it.
 */
export const publicIps = `
create table ip_pool (
  id text primary key,
  region text not null references region (slug),
  name text not null,
  description text not null default '',
  version smallint not null check (version in (4, 6)),
  gateway inet not null,
  prefix_length smallint not null,
  -- Of the region's public bridge; null is the one that the region file names.
  vlan integer check (vlan between 1 and 4094),
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (id, region, version),
  constraint ip_pool_name unique (region, name),
  check (family(gateway) = version),
  check (prefix_length between 1 and case version when 4 then 31 else 127 end)
);
create index ip_pool_list on ip_pool (created_at desc, id desc);

create table ip_pool_range (
  id text primary key,
  pool_id text not null references ip_pool (id) on delete cascade,
  first_address inet not null,
  last_address inet not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (pool_id, id),
  check (first_address <= last_address)
);
create index ip_pool_range_list on ip_pool_range (pool_id, created_at desc, id desc);

create table public_ip (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  pool_id text not null,
  version smallint not null,
  address inet not null,
  ptr text,
  labels jsonb not null default '{}',
  protect_delete boolean not null default false,
  delete_with_server boolean not null default false,
  -- The server that is to have it.
  server_id text,
  -- The server whose VM may have it in the region. It changes hands only when a job has ended that took it off that VM,
  -- and no job of another server is told of the address before: this is what keeps a move from doubling it.
  held_by text,
  -- The region has said that the server's VM has it.
  is_applied boolean not null default false,
  requires_reboot boolean not null default false,
  status_code text,
  status_message text,
  status_job_id text,
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint public_ip_address unique (address),
  foreign key (pool_id, region, version) references ip_pool (id, region, version),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region),
  foreign key (organisation_id, held_by, region) references server (organisation_id, id, region),
  check (not is_applied or (server_id is not null and held_by is not null and server_id = held_by)),
  check (not requires_reboot or is_applied),
  check (server_id is null or held_by is not null),
  check (family(address) = version)
);
-- One of each version: they share the server's public interface.
create unique index public_ip_server on public_ip (server_id, version) where server_id is not null;
create index public_ip_held_by on public_ip (held_by) where held_by is not null;
create index public_ip_list on public_ip (organisation_id, created_at desc, id desc);

create table public_address (
  address inet primary key,
  -- For lists: addresses of a range are in their order.
  seq bigint not null generated always as identity unique,
  pool_id text not null,
  range_id text not null,
  state text not null check (state in ('reserved', 'free', 'used', 'quarantined')),
  -- Whom the operator has given it to; it stays theirs when they release it.
  allocated_to text references organisation (id),
  public_ip_id text unique,
  free_after timestamptz,
  foreign key (pool_id, range_id) references ip_pool_range (pool_id, id) on delete cascade,
  foreign key (allocated_to, public_ip_id) references public_ip (organisation_id, id),
  check ((state = 'used') = (public_ip_id is not null)),
  check ((state = 'quarantined') = (free_after is not null)),
  check (state <> 'reserved' or allocated_to is null),
  check (state <> 'used' or allocated_to is not null)
);
create index public_address_stock on public_address (pool_id, free_after, address)
  where allocated_to is null and state in ('free', 'quarantined');
create index public_address_allocated on public_address (allocated_to, free_after, address)
  where state in ('free', 'quarantined');
create index public_address_allocations on public_address (pool_id, seq) where allocated_to is not null;
create index public_address_range on public_address (range_id);

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
    -- On its way to a server or off one: a job takes it there, or the reason why none does is told.
    when i.status_code is null and i.server_id is not null and not i.is_applied and not exists (
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
  for each row when ((old.address, old.pool_id, old.server_id, old.held_by, old.is_applied, old.status_code)
                     is distinct from (new.address, new.pool_id, new.server_id, new.held_by, new.is_applied, new.status_code))
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

grant select, insert, update, delete on ip_pool, ip_pool_range, public_ip, public_address to kule_api;
revoke execute on all functions in schema public from public;

${isolateTenants("public_ip")}
`;
