/**
 * What organisations own. Every tenant table has organisation_id in a unique key with its id, and children refer
 * to both: row-level security does not see foreign keys, so without that a child could point at another
 * organisation's parent. The same holds for the region.
 */
export const resources = `
create extension if not exists btree_gist;

create table ssh_key (
  id text primary key,
  organisation_id text not null references organisation (id),
  name text not null,
  public_key text not null,
  fingerprint_sha256 text not null,
  fingerprint_md5 text not null,
  type text not null check (type in ('ed25519', 'ecdsa', 'rsa', 'sk-ed25519', 'sk-ecdsa')),
  bits integer not null,
  comment text not null,
  labels jsonb not null default '{}',
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  constraint ssh_key_name unique (organisation_id, name),
  constraint ssh_key_fingerprint unique (organisation_id, fingerprint_sha256)
);
create index ssh_key_list on ssh_key (organisation_id, created_at desc, id desc);

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
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint network_name unique (organisation_id, region, name)
);
create unique index network_default on network (organisation_id, region) where is_default;
create index network_list on network (organisation_id, created_at desc, id desc);

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
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  foreign key (organisation_id, network_id, region) references network (organisation_id, id, region),
  constraint subnet_name unique (network_id, name),
  constraint subnet_cidr_overlap exclude using gist (network_id with =, cidr inet_ops with &&)
);
create index subnet_list on subnet (organisation_id, network_id, created_at desc, id desc);

-- The region's VLANs, one row each from the day the region is registered: taking one is a skip-locked update.
create table region_vlan (
  region text not null references region (slug),
  vlan integer not null,
  subnet_id text unique references subnet (id) on delete set null,
  primary key (region, vlan)
);
create index region_vlan_free on region_vlan (region, vlan) where subnet_id is null;

create table server (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  name text not null,
  status text not null check (status in ('creating', 'running', 'stopped', 'starting', 'stopping', 'pending_deletion', 'deleting', 'error', 'deleted')),
  status_code text,
  status_message text,
  status_job_id text,
  power_state text not null default 'unknown' check (power_state in ('on', 'off', 'unknown')),
  image text not null,
  package text not null,
  ssh_key_ids text[] not null default '{}',
  -- The key lines as they were at creation: deleting a key later changes nothing here.
  ssh_public_keys text[] not null default '{}',
  labels jsonb not null default '{}',
  protect_delete boolean not null default false,
  start_when_created boolean not null default true,
  deletion_requested_at timestamptz,
  deletion_requested_by jsonb,
  purge_at timestamptz,
  restores_to text check (restores_to in ('running', 'stopped', 'error')),
  generation integer not null default 1,
  observed_generation integer not null default 0,
  observed_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  deleted_at timestamptz,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  check ((status = 'pending_deletion') <= (purge_at is not null and restores_to is not null)),
  check ((status = 'deleted') = (deleted_at is not null))
);
create unique index server_name on server (organisation_id, region, name) where deleted_at is null;
create index server_list on server (organisation_id, created_at desc, id desc) where deleted_at is null;
create index server_list_by_name on server (organisation_id, name, id) where deleted_at is null;
create index server_labels on server using gin (labels jsonb_path_ops) where deleted_at is null;
create index server_purge on server (purge_at) where status = 'pending_deletion';

-- What a create job must hand to the region and nobody may keep: wiped when that job ends.
create table server_secret (
  server_id text primary key,
  organisation_id text not null,
  password_hash text,
  sealed_password text,
  foreign key (organisation_id, server_id) references server (organisation_id, id) on delete cascade
);

-- The region's VM numbers. A number that was used rests as a tombstone: a late destroy of its former VM must
-- never meet a successor.
create table region_vmid (
  region text not null references region (slug),
  vmid integer not null,
  state text not null default 'free' check (state in ('free', 'used', 'tombstone', 'quarantined')),
  server_id text,
  free_after timestamptz,
  primary key (region, vmid),
  check ((state = 'used') <= (server_id is not null))
);
create index region_vmid_free on region_vmid (region, vmid) where state = 'free';
create unique index region_vmid_server on region_vmid (server_id) where state = 'used';
create index region_vmid_resting on region_vmid (free_after) where state = 'tombstone';

create table nic (
  id text primary key,
  organisation_id text not null,
  region text not null,
  server_id text not null,
  subnet_id text not null,
  position smallint not null default 0,
  mac macaddr not null,
  unique (organisation_id, id),
  unique (server_id, position),
  constraint nic_mac unique (region, mac),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region),
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region)
);
create index nic_subnet on nic (subnet_id);

create table address (
  subnet_id text not null,
  address inet not null,
  organisation_id text not null,
  state text not null check (state in ('reserved', 'used', 'quarantined')),
  nic_id text unique,
  free_after timestamptz,
  primary key (subnet_id, address),
  foreign key (organisation_id, subnet_id) references subnet (organisation_id, id) on delete cascade,
  foreign key (organisation_id, nic_id) references nic (organisation_id, id),
  check ((state = 'used') = (nic_id is not null)),
  check ((state = 'quarantined') = (free_after is not null))
);
create index address_resting on address (free_after) where state = 'quarantined';
`;
