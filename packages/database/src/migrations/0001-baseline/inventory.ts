import { isolateTenants } from "../tenant-isolation.ts";

/** The agents' observations of their regions, beside the intent, and the capacity. */
export const inventory = `
-- One row for each region: the running scan, and the results of the last ones.
create table region_inventory (
  region text primary key references region (slug),
  -- The fencing token of scans: a batch of any other pass changes nothing.
  pass integer not null default 0,
  agent_run text,
  agent_name text,
  began_at timestamptz,
  renewed_at timestamptz,
  is_open boolean not null default false,
  next_batch integer not null default 0,
  every_seconds integer not null default 30,
  ended_pass integer,
  ended_at timestamptz,
  ended_complete boolean,
  trouble text,
  complete_pass integer,
  complete_began_at timestamptz,
  capacity jsonb,
  capacity_at timestamptz
);
grant select, insert, update on region_inventory to kule_api;

-- The guests that the last scans found among Kule's: by their numbers, their tags or their pools.
create table region_vm (
  region text not null references region (slug),
  vmid integer not null,
  pass integer not null,
  -- When its scan began, by the clock of Postgres.
  looked_at timestamptz not null,
  state text not null check (state in ('seen', 'unanswered', 'busy', 'absent')),
  node text,
  name text,
  power text check (power in ('on', 'off')),
  marker_server_id text,
  marker_organisation_id text,
  marker_region text,
  facts jsonb not null default '{}',
  primary key (region, vmid)
);
create index region_vm_marker on region_vm (region, marker_server_id) where marker_server_id is not null;
grant select, insert, update, delete on region_vm to kule_api;

-- Differences between a region and the records. Without an organisation when the guest belongs to none.
create table drift (
  id text primary key,
  region text not null references region (slug),
  vmid integer not null,
  kind text not null check (kind in ('changed', 'missing', 'foreign', 'extra')),
  organisation_id text,
  server_id text,
  node text,
  vm_name text,
  marker text,
  message text not null,
  differences jsonb not null default '[]',
  -- The number of consecutive scans that saw it; what one scan saw may be the middle of a change.
  sightings integer not null default 1,
  pass integer not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  constraint drift_vm unique (region, vmid),
  foreign key (organisation_id, server_id) references server (organisation_id, id),
  check ((server_id is null) = (organisation_id is null)),
  check (server_id is not null or kind in ('foreign', 'extra'))
);
create index drift_server on drift (organisation_id, server_id) where server_id is not null;
create index drift_list on drift (first_seen_at desc, id desc) where sightings >= 2;
grant select, insert, update, delete on drift to kule_api;
${isolateTenants("drift")}

-- The capacity that was reserved in a region since its agent last reported the capacity, beside the servers that were
-- created since: resizes that grow a server, and creates that moved to another node. Without an organisation: all share
-- the capacity. A later report deletes the rows that it has counted, and the end of a failed resize deletes its own.
create table region_growth (
  id bigint generated always as identity primary key,
  region text not null references region (slug),
  server_id text not null,
  at timestamptz not null default clock_timestamp(),
  -- Null: not known yet, any node is possible.
  node text,
  vcpu integer not null check (vcpu >= 0),
  memory_mb integer not null check (memory_mb >= 0),
  disk_gb integer not null check (disk_gb >= 0)
);
create index region_growth_region on region_growth (region, at);
grant select, insert, delete on region_growth to kule_api;

-- All share the capacity: what other organisations reserved since counts, though row-level security hides their rows.
create function kule_placed_since(p_region text, p_since timestamptz)
returns table (node text, package text, servers integer)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.node, s.package, count(*)::integer from server s
   where s.region = p_region and s.deleted_at is null and s.created_at > p_since
   group by 1, 2
$$;
grant execute on function kule_placed_since(text, timestamptz) to kule_api;
`;
