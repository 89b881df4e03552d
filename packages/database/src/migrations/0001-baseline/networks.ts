import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Networks, their subnets and the regions' VLANs.
 *
 * The configuration of a network for its region's edge, and its progress there, is beside it: a network's
 * `generation` counts every change; `edge_generation` is the last one that must reach the edge, and a subnet's is the
 * network's generation that adds or removes the subnet. 0: the edge has never received it.
 */
export const networks = `
create table network (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  name text not null,
  cidr cidr not null,
  description text not null default '',
  is_default boolean not null default false,
  status text not null default 'active' check (status in ('provisioning', 'active', 'updating', 'deleting', 'error')),
  labels jsonb not null default '{}',
  generation integer not null default 1,
  observed_generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  edge_generation integer not null default 0,
  -- A job has been written for it once, so an edge may have it, whatever the region file says now.
  on_edge boolean not null default false,
  -- When a job last found the wanted state at the edge.
  applied_at timestamptz,
  status_code text,
  status_message text,
  status_job_id text,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint network_name unique (organisation_id, region, name),
  constraint network_edge_generation check (edge_generation <= generation and observed_generation <= generation)
);
create unique index network_default on network (organisation_id, region) where is_default;
create index network_list on network (organisation_id, created_at desc, id desc);
create index network_on_edge on network (region, applied_at) where on_edge;
create index network_off_edge on network (region) where not on_edge;
grant select, insert, update, delete on network to kule_api;
${isolateTenants("network")}

create table subnet (
  id text primary key,
  organisation_id text not null references organisation (id),
  network_id text not null,
  region text not null,
  name text not null,
  tier text not null check (tier in ('app', 'mgmt', 'data')),
  cidr cidr not null,
  gateway_ip inet not null,
  dns_servers text[] not null default '{}',
  status text not null default 'active' check (status in ('provisioning', 'active', 'updating', 'deleting', 'error')),
  -- No address below this one is free. Kept under the subnet's row lock; makes the next allocation one probe.
  lowest_free_hint inet not null,
  labels jsonb not null default '{}',
  generation integer not null default 1,
  observed_generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  edge_generation integer not null default 0,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  foreign key (organisation_id, network_id, region) references network (organisation_id, id, region),
  constraint subnet_name unique (network_id, name),
  constraint subnet_cidr_overlap exclude using gist (network_id with =, cidr inet_ops with &&),
  -- For rows that refer to the tier of their subnet: gateways serve no subnet of tier data.
  constraint subnet_tier_key unique (organisation_id, id, network_id, tier)
);
create index subnet_list on subnet (organisation_id, network_id, created_at desc, id desc);
grant select, insert, update, delete on subnet to kule_api;
${isolateTenants("subnet")}

-- The region's VLANs: one row for each, written when the region is registered. A network gets one by a skip-locked update.
create table region_vlan (
  region text not null references region (slug),
  vlan integer not null,
  subnet_id text unique references subnet (id) on delete set null,
  -- A VM that the records do not know uses it; see restores.ts.
  held boolean not null default false,
  primary key (region, vlan),
  check (not held or subnet_id is null)
);
create index region_vlan_free on region_vlan (region, vlan) where subnet_id is null and not held;
grant select, insert, update, delete on region_vlan to kule_api;
`;
