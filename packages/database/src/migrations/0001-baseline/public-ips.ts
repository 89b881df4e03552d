import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Public addresses. Each address of a pool has a row from the day its range is added, as VM numbers and VLANs have:
 * reserving one is an update that skips locked rows, and the primary key keeps an address from being in two ranges.
 *
 * `public_address` is the installation's stock and belongs to no organisation, though an address may be allocated to
 * one; `public_ip` is an address that an organisation has reserved.
 */
export const publicIps = `
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
  -- The server to which it is attached, or is being attached.
  server_id text,
  -- The server whose VM may have it in the region. It changes only when a job has ended that removed the address from
  -- that VM. No job of another server is given the address before, so a move never gives it to two VMs.
  held_by text,
  -- The region has reported that the server's VM has it.
  is_applied boolean not null default false,
  requires_reboot boolean not null default false,
  status_code text,
  status_message text,
  status_job_id text,
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  -- Since when the VM has settings that its guest reads when it boots. A scan of the region shows whether it has
  -- booted since.
  reboot_since timestamptz,
  -- The gateway that uses it; such an address has no server.
  gateway_id text,
  -- The load balancer on two servers that uses it: either may have it, so neither is its server.
  load_balancer_id text,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint public_ip_address unique (address),
  foreign key (pool_id, region, version) references ip_pool (id, region, version),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region),
  foreign key (organisation_id, held_by, region) references server (organisation_id, id, region),
  constraint public_ip_gateway_key foreign key (organisation_id, gateway_id, region)
    references gateway (organisation_id, id, region),
  check (not is_applied or (server_id is not null and held_by is not null and server_id = held_by)),
  check (not requires_reboot or is_applied),
  check (server_id is null or held_by is not null),
  check (family(address) = version),
  check (requires_reboot = (reboot_since is not null)),
  constraint public_ip_of_one check (num_nonnulls(gateway_id, load_balancer_id) = 0
    or num_nonnulls(gateway_id, load_balancer_id) = 1 and server_id is null and held_by is null),
  constraint public_ip_of_gateway_is_v4 check (gateway_id is null or version = 4),
  constraint public_ip_of_load_balancer_is_v4 check (load_balancer_id is null or version = 4)
);
-- A server has one of each version: they share its public interface.
create unique index public_ip_server on public_ip (server_id, version) where server_id is not null;
create index public_ip_held_by on public_ip (held_by) where held_by is not null;
create index public_ip_list on public_ip (organisation_id, created_at desc, id desc);
create unique index public_ip_gateway on public_ip (gateway_id) where gateway_id is not null;
create unique index public_ip_load_balancer on public_ip (load_balancer_id) where load_balancer_id is not null;
grant select, insert, update, delete on public_ip to kule_api;
${isolateTenants("public_ip")}

create table public_address (
  address inet primary key,
  -- The order of lists: addresses of a range in ascending order.
  seq bigint not null generated always as identity unique,
  pool_id text not null,
  range_id text not null,
  state text not null check (state in ('reserved', 'free', 'used', 'quarantined')),
  -- The organisation that the operator has allocated it to; it stays allocated when the organisation releases it.
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
grant select, insert, update, delete on public_address to kule_api;
`;
