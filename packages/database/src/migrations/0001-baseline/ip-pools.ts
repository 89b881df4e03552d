/** Pools of public addresses, and their ranges: they belong to the installation, not to an organisation. */
export const ipPools = `
create table ip_pool (
  id text primary key,
  region text not null references region (slug),
  name text not null,
  description text not null default '',
  version smallint not null check (version in (4, 6)),
  gateway inet not null,
  prefix_length smallint not null,
  -- The VLAN of the region's public bridge; null means the one in the region file.
  vlan integer check (vlan between 1 and 4094),
  -- The pattern of its addresses' reverse names, such as *.static.example.net; null: those without a ptr have none.
  reverse_name text,
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (id, region, version),
  constraint ip_pool_name unique (region, name),
  check (family(gateway) = version),
  check (prefix_length between 1 and case version when 4 then 31 else 127 end),
  -- Its longest address in the place of the star leaves a name of at most 253 octets.
  constraint ip_pool_reverse_name check (
    reverse_name ~ '^[*]([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)+$'
    and length(reverse_name) <= 254 - case version when 4 then 15 else 39 end)
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
grant select, insert, update, delete on ip_pool, ip_pool_range to kule_api;
`;
