import { isolateTenants } from "./tenant-isolation.ts";

/**
 * Gateways, the subnets that they serve and the ports that they forward.
 *
 * A row says what is wanted. What the region's edge has is beside it: an edge is told of a whole network at once, and each
 * change is written with the network's generation that carries it. What is to go stays, with the generation without it,
 * until the edge has let go of it: until then it is in force.
 *
 * No subnet of tier `data` is ever served: a served subnet's row holds its tier, and the key to the subnet keeps it true.
 */
export const gateways = `
alter table subnet add constraint subnet_tier_key unique (organisation_id, id, network_id, tier);

create table gateway (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  network_id text not null,
  name text not null,
  description text not null default '',
  labels jsonb not null default '{}',
  is_deleting boolean not null default false,
  -- Of the network: the first that has all that is wanted of the gateway.
  wanted_generation integer not null,
  generation integer not null default 1,
  observed_generation integer not null default 0,
  -- Why the edge has not what is wanted; empty while nothing stands in the way.
  status_code text,
  status_message text,
  status_job_id text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
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

-- The address that it has; a server has none beside it.
alter table public_ip
  add column gateway_id text,
  add constraint public_ip_gateway_key foreign key (organisation_id, gateway_id, region)
    references gateway (organisation_id, id, region),
  add constraint public_ip_of_one check (gateway_id is null or server_id is null and held_by is null),
  add constraint public_ip_of_gateway_is_v4 check (gateway_id is null or version = 4);
create unique index public_ip_gateway on public_ip (gateway_id) where gateway_id is not null;

create table gateway_subnet (
  subnet_id text primary key,
  organisation_id text not null,
  network_id text not null,
  gateway_id text not null,
  tier text not null,
  -- Of the network: the first that is to have it, and the first that is to be without it.
  wanted_generation integer not null,
  left_generation integer,
  -- The edge has it, or may have it still.
  is_applied boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, gateway_id, subnet_id),
  constraint gateway_serves_no_data check (tier <> 'data'),
  foreign key (organisation_id, gateway_id, network_id) references gateway (organisation_id, id, network_id),
  constraint gateway_subnet_tier foreign key (organisation_id, subnet_id, network_id, tier)
    references subnet (organisation_id, id, network_id, tier)
);
create index gateway_subnet_of on gateway_subnet (organisation_id, gateway_id);

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
  -- Of the network: the first that is to have it, and the first that is to be without it.
  wanted_generation integer not null,
  left_generation integer,
  -- The edge has it, or may have it still.
  is_applied boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  foreign key (organisation_id, gateway_id, region) references gateway (organisation_id, id, region),
  -- What is forwarded goes where the gateway serves, or its answers would not come back.
  constraint port_forward_served foreign key (organisation_id, gateway_id, subnet_id)
    references gateway_subnet (organisation_id, gateway_id, subnet_id),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region)
);
-- The port of one that leaves is free: the edge is told of both at once.
create unique index port_forward_port on port_forward (gateway_id, protocol, listen_port) where left_generation is null;
create index port_forward_list on port_forward (organisation_id, gateway_id, created_at desc, id desc);
create index port_forward_target on port_forward (subnet_id, target_address);
create index port_forward_server on port_forward (server_id);

/* What is wrong with a gateway; null when nothing is, or when there is none such. */
create function kule_gateway_problem(p_organisation_id text, p_id text) returns text
language plpgsql stable security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_problem text;
begin
  select case
    when not exists (
        select 1 from public_ip i where i.organisation_id = g.organisation_id and i.gateway_id = g.id)
      then 'has no public address'
    when g.is_deleting and exists (
        select 1 from gateway_subnet u
         where u.organisation_id = g.organisation_id and u.gateway_id = g.id and u.left_generation is null)
      then 'is on its way out and serves a subnet'
    when g.is_deleting and exists (
        select 1 from port_forward f
         where f.organisation_id = g.organisation_id and f.gateway_id = g.id and f.left_generation is null)
      then 'is on its way out and forwards a port'
    when (g.is_deleting or g.observed_generation < g.generation) and g.status_code is null and not exists (
        select 1 from job j where j.organisation_id = g.organisation_id and j.resource_id = g.network_id
           and j.status in ('queued', 'running'))
      then 'is on its way and no job takes it there'
    end
    into v_problem from gateway g where g.organisation_id = p_organisation_id and g.id = p_id;
  return v_problem;
end $$;

create function kule_keep_gateway(p_organisation_id text, p_id text) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_problem text := kule_gateway_problem(p_organisation_id, p_id);
begin
  if v_problem is not null then
    perform kule_refuse_commit('gateway_kept', 'gateway ' || p_id || ' ' || v_problem);
  end if;
end $$;

create function kule_gateway_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_row jsonb := case tg_op when 'INSERT' then to_jsonb(new) else to_jsonb(old) end;
begin
  perform kule_keep_gateway(v_row ->> 'organisation_id', v_row ->> case tg_table_name
    when 'gateway' then 'id' else 'gateway_id' end);
  return null;
end $$;
create constraint trigger gateway_kept_insert after insert or update on gateway deferrable initially deferred
  for each row execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_address_update after update on public_ip deferrable initially deferred
  for each row when (old.gateway_id is not null and old.gateway_id is distinct from new.gateway_id)
  execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_address_delete after delete on public_ip deferrable initially deferred
  for each row when (old.gateway_id is not null) execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_subnet after insert or update on gateway_subnet deferrable initially deferred
  for each row execute function kule_gateway_at_commit();
create constraint trigger gateway_kept_forward after insert or update on port_forward deferrable initially deferred
  for each row execute function kule_gateway_at_commit();

create function kule_gateway_job_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_gateway(g.organisation_id, g.id) from gateway g
    where g.organisation_id = new.organisation_id and g.network_id = new.resource_id;
  return null;
end $$;
create constraint trigger gateway_kept_job after update on job deferrable initially deferred
  for each row when (new.resource_type = 'network' and old.status in ('queued', 'running')
                     and new.status not in ('queued', 'running'))
  execute function kule_gateway_job_at_commit();

/* Where a forwarded port leads: to its server, and while the edge may still forward it to nobody else. */
create function kule_keep_port_forwards(p_organisation_id text, p_subnet_id text, p_address inet) returns void
language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_found record;
begin
  for v_found in
    select f.id, f.server_id, f.left_generation is null as is_kept, (
             select n.server_id from address a
               join nic n on n.organisation_id = a.organisation_id and n.id = a.nic_id
              where a.organisation_id = f.organisation_id and a.subnet_id = f.subnet_id
                and a.address = f.target_address) as holder
      from port_forward f
     where f.organisation_id = p_organisation_id and f.subnet_id = p_subnet_id and f.target_address = p_address
  loop
    if v_found.holder <> v_found.server_id then
      perform kule_refuse_commit('port_forward_kept', 'port forward ' || v_found.id || ' leads to another server');
    elsif v_found.is_kept and v_found.holder is null then
      perform kule_refuse_commit('port_forward_kept', 'port forward ' || v_found.id || ' leads to nobody');
    end if;
  end loop;
end $$;

create function kule_port_forward_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_port_forwards(new.organisation_id, new.subnet_id, new.target_address);
  return null;
end $$;
create constraint trigger port_forward_kept after insert or update on port_forward deferrable initially deferred
  for each row execute function kule_port_forward_at_commit();

create function kule_forwarded_address_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform kule_keep_port_forwards(new.organisation_id, new.subnet_id, new.address);
  return null;
end $$;
create constraint trigger port_forward_kept_address after update on address deferrable initially deferred
  for each row when (old.nic_id is distinct from new.nic_id) execute function kule_forwarded_address_at_commit();

grant select, insert, update, delete on gateway, gateway_subnet, port_forward to kule_api;
revoke execute on all functions in schema public from public;
${isolateTenants("gateway")}
${isolateTenants("gateway_subnet")}
${isolateTenants("port_forward")}
`;
