import { isolateTenants } from "../tenant-isolation.ts";
import { labelledRows } from "./label-terms.ts";

/** Servers, the secrets sealed for their creation, the regions' VM numbers, and the interfaces. */
export const servers = `
create table server (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  name text not null,
  status text not null check (status in (
    'creating', 'running', 'stopped', 'starting', 'stopping', 'rebooting', 'resizing', 'rebuilding',
    'pending_deletion', 'deleting', 'error', 'deleted')),
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
  -- Null: the size of the package's disk. A resize sets it: a disk never shrinks, whatever the package.
  disk_gb integer,
  -- The target of a running resize: until it ends, quotas count the larger of this and the server's current size.
  resize_package text,
  resize_disk_gb integer,
  protect_rebuild boolean not null default false,
  locked_at timestamptz,
  locked_by jsonb,
  locked_reason text,
  -- The node of its VM, or the one on which it is to be created.
  node text,
  guest jsonb,
  -- The wanted and the applied firewall rules of a server's VM: each identifies a whole list of rules, '' an empty one.
  filter_wanted text not null default '',
  filter_applied text not null default '',
  -- The job that was to apply the wanted rules has failed.
  filter_failed boolean not null default false,
  -- The rules of the VM that the agent last applied, as a scan of the region reads them: their number, and the digest of
  -- their lines. Null when that is not known, or when there are none.
  filter_digest text,
  -- What the server belongs to and alone may change it, with its name; null for a server of the customer's own.
  managed_by_type text,
  managed_by_id text,
  managed_by_name text,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  check ((status = 'pending_deletion') <= (purge_at is not null and restores_to is not null)),
  check ((status = 'deleted') = (deleted_at is not null)),
  constraint server_locked check (
    (locked_at is null) = (locked_by is null) and (locked_at is null) = (locked_reason is null)),
  constraint server_resize check ((resize_package is null) = (resize_disk_gb is null)),
  constraint server_managed check (
    num_nulls(managed_by_type, managed_by_id, managed_by_name) in (0, 3)
    and (managed_by_type = 'load_balancer' and managed_by_id like 'lb\\_%'
      or managed_by_type = 'cluster' and managed_by_id like 'k8s\\_%' or managed_by_type is null))
);
create unique index server_name on server (organisation_id, region, name) where deleted_at is null;
-- Lists have managed servers or all others, and each has indexes of its own: neither reads what the other answers. Only the
-- order by region, which is that of server_name, passes over what it does not answer.
create index server_list on server (organisation_id, created_at desc, id desc)
  where deleted_at is null and managed_by_type is null;
create index server_list_by_name on server (organisation_id, name, id)
  where deleted_at is null and managed_by_type is null;
create index server_list_of on server (organisation_id, region, status, created_at desc, id desc)
  where deleted_at is null and managed_by_type is null;
create index server_managed_list on server (organisation_id, created_at desc, id desc)
  where deleted_at is null and managed_by_type is not null;
create index server_managed_list_by_name on server (organisation_id, name, id)
  where deleted_at is null and managed_by_type is not null;
create index server_managed_list_of on server (organisation_id, region, status, created_at desc, id desc)
  where deleted_at is null and managed_by_type is not null;
create index server_managed_by on server (organisation_id, managed_by_id)
  where deleted_at is null and managed_by_type is not null;
-- Few at any time: the invariants look at each of them at every pass.
create index server_in_transition on server (id)
  where status in ('creating', 'starting', 'stopping', 'rebooting', 'resizing', 'rebuilding', 'deleting');
create index server_purge on server (purge_at) where status = 'pending_deletion';
-- Finds the servers accepted in a region since its agent last reported the capacity.
create index server_region on server (region, created_at) where deleted_at is null;
${labelledRows("server", "deleted_at is null")}
-- Servers are history: they end as \`deleted\`, and their rows are never deleted.
grant select, insert, update on server to kule_api;
${isolateTenants("server")}

-- The secrets that a create job passes to the region: deleted when that job ends.
create table server_secret (
  server_id text primary key,
  organisation_id text not null,
  password_hash text,
  sealed_password text,
  foreign key (organisation_id, server_id) references server (organisation_id, id) on delete cascade
);
grant select, insert, update, delete on server_secret to kule_api;
${isolateTenants("server_secret")}

-- The region's VM numbers. A number that was used is not used again for a time, as a tombstone: a late destroy of its
-- former VM must never reach a new one.
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
create index region_vmid_tombstone on region_vmid (free_after) where state = 'tombstone';
grant select, insert, update, delete on region_vmid to kule_api;

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
create index nic_subnet on nic (organisation_id, subnet_id);
grant select, insert, update, delete on nic to kule_api;
${isolateTenants("nic")}
create constraint trigger subnet_open_nic after insert on nic deferrable initially deferred
  for each row execute function kule_subnet_open_at_commit();
`;
