import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Gateways, the subnets that they serve and the ports that they forward.
 *
 * A row is the intent. What the region's edge has applied is beside it: an edge receives the configuration of a whole
 * network at once, and each change is stored with the network's generation that contains it. A deleted row stays,
 * with the generation without it, until the edge has applied that generation: until then it is in force.
 *
 * No subnet of tier `data` is ever served: the row of a served subnet holds its tier, and the foreign key to the
 * subnet keeps it equal.
 */
export const gateways = `
create table gateway (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  network_id text not null,
  name text not null,
  description text not null default '',
  labels jsonb not null default '{}',
  is_deleting boolean not null default false,
  -- The first generation of the network that contains the wanted state of the gateway.
  wanted_generation integer not null,
  generation integer not null default 1,
  observed_generation integer not null default 0,
  -- Why the edge does not have the wanted state; null while nothing prevents it.
  status_code text,
  status_message text,
  status_job_id text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  -- Its address was reserved by the organisation before, and stays reserved when the gateway is deleted.
  keeps_address boolean not null default false,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  unique (organisation_id, id, network_id),
  constraint gateway_name unique (organisation_id, region, name),
  constraint gateway_network unique (network_id),
  foreign key (organisation_id, network_id, region) references network (organisation_id, id, region),
  foreign key (organisation_id, status_job_id) references job (organisation_id, id),
  check (observed_generation <= generation)
);
create index gateway_list on gateway (organisation_id, created_at desc, id desc);
grant select, insert, update, delete on gateway to kule_api;
${isolateTenants("gateway")}

create table gateway_subnet (
  subnet_id text primary key,
  organisation_id text not null,
  network_id text not null,
  gateway_id text not null,
  tier text not null,
  -- Generations of the network: the first with it, and the first without it.
  wanted_generation integer not null,
  left_generation integer,
  -- The edge has it, or may still have it.
  is_applied boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, gateway_id, subnet_id),
  constraint gateway_serves_no_data check (tier <> 'data'),
  foreign key (organisation_id, gateway_id, network_id) references gateway (organisation_id, id, network_id),
  constraint gateway_subnet_tier foreign key (organisation_id, subnet_id, network_id, tier)
    references subnet (organisation_id, id, network_id, tier)
);
create index gateway_subnet_of on gateway_subnet (organisation_id, gateway_id);
grant select, insert, update, delete on gateway_subnet to kule_api;
${isolateTenants("gateway_subnet")}

create table port_forward (
  id text primary key,
  organisation_id text not null,
  region text not null,
  gateway_id text not null,
  subnet_id text not null,
  server_id text not null,
  target_address inet not null,
  protocol text not null check (protocol in ('tcp', 'udp')),
  listen_port integer not null check (listen_port between 1 and 65535),
  target_port integer not null check (target_port between 1 and 65535),
  description text not null default '',
  -- Generations of the network: the first with it, and the first without it.
  wanted_generation integer not null,
  left_generation integer,
  -- The edge has it, or may still have it.
  is_applied boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  foreign key (organisation_id, gateway_id, region) references gateway (organisation_id, id, region),
  -- Ports are forwarded only to subnets that the gateway serves: otherwise the answers would not return.
  constraint port_forward_served foreign key (organisation_id, gateway_id, subnet_id)
    references gateway_subnet (organisation_id, gateway_id, subnet_id),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region)
);
-- The port of a forward that is being deleted can be used again: the edge gets both changes at once.
create unique index port_forward_port on port_forward (gateway_id, protocol, listen_port) where left_generation is null;
create index port_forward_list on port_forward (organisation_id, gateway_id, created_at desc, id desc);
create index port_forward_target on port_forward (subnet_id, target_address);
create index port_forward_server on port_forward (server_id);
grant select, insert, update, delete on port_forward to kule_api;
${isolateTenants("port_forward")}
`;
