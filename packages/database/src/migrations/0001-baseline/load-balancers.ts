import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Load balancers with their listeners and targets, the servers that they run on, and what the region's rounds saw of these.
 *
 * `generation` counts every change, `wanted_generation` is the last one that concerns the machines, and `observed_generation`
 * of a machine is the last one that it has been given.
 */
export const loadBalancers = `
create table load_balancer (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  network_id text not null,
  subnet_id text not null,
  name text not null,
  description text not null default '',
  labels jsonb not null default '{}',
  package text not null,
  ha boolean not null,
  algorithm text not null check (algorithm in ('round_robin', 'least_connections', 'source_hash')),
  -- With ha: the number by which its two machines know each other's messages. Of two pairs in one subnet with the same
  -- number each would take the other's address.
  vrid smallint check (vrid between 1 and 255),
  public_ip_id text,
  -- Its address was reserved by the organisation before, and stays reserved when the load balancer is deleted.
  keeps_address boolean not null default false,
  is_deleting boolean not null default false,
  -- How its last job ended; null: well, or none has ended.
  failure text check (failure in ('configuration_refused', 'apply_failed')),
  failure_job_id text,
  -- Why its machines do not get its package; null: they have it, or get it one after the other.
  resize_failure text check (resize_failure in ('resize_failed', 'resize_waiting')),
  resize_job_id text,
  -- Of the addresses that its targets stood for when they were last compared: servers come and go without a request.
  targets_digest text not null default '',
  -- What its machines are to answer challenges of a CA with (HTTP-01), and since which generation; null without an http
  -- listener on port 80, and while the installation has no account at a CA.
  acme_thumbprint text,
  acme_generation integer not null default 0,
  generation integer not null default 1,
  wanted_generation integer not null default 1,
  observed_generation integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint load_balancer_name unique (organisation_id, region, name),
  constraint load_balancer_vrid unique (subnet_id, vrid),
  foreign key (organisation_id, network_id, region) references network (organisation_id, id, region),
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region),
  -- An address that is released while no machine has it is the load balancer's no more.
  constraint load_balancer_public_ip_key foreign key (organisation_id, public_ip_id, region)
    references public_ip (organisation_id, id, region) on delete set null (public_ip_id),
  foreign key (organisation_id, failure_job_id) references job (organisation_id, id),
  foreign key (organisation_id, resize_job_id) references job (organisation_id, id),
  check (observed_generation <= generation and wanted_generation <= generation and acme_generation <= wanted_generation),
  check (ha = (vrid is not null)),
  check (failure is not null or failure_job_id is null),
  check (resize_job_id is null or resize_failure is not distinct from 'resize_failed')
);
create index load_balancer_list on load_balancer (organisation_id, created_at desc, id desc);
create index load_balancer_list_by_name on load_balancer (organisation_id, name, id);
create index load_balancer_network on load_balancer (organisation_id, network_id);
create index load_balancer_subnet on load_balancer (subnet_id);
create index load_balancer_region on load_balancer (region, id);
create index load_balancer_public_ip on load_balancer (public_ip_id) where public_ip_id is not null;
grant select, insert, update, delete on load_balancer to kule_api;
${isolateTenants("load_balancer")}

-- With ha, the public address is its own and not a server's: public_ip_id and this say the same.
alter table public_ip add constraint public_ip_load_balancer_key foreign key (organisation_id, load_balancer_id, region)
  references load_balancer (organisation_id, id, region);

-- With ha, the address that its machines share. No server is ever given it.
alter table address add constraint address_load_balancer_key foreign key (organisation_id, load_balancer_id)
  references load_balancer (organisation_id, id);

create table load_balancer_machine (
  load_balancer_id text not null,
  slot smallint not null check (slot in (1, 2)),
  organisation_id text not null,
  region text not null,
  -- Null: another one is about to be made.
  server_id text,
  observed_generation integer not null default 0,
  since timestamptz not null default clock_timestamp(),
  -- By a resize: what it answered before says nothing of it now.
  restarted_at timestamptz,
  primary key (load_balancer_id, slot),
  unique (organisation_id, load_balancer_id, slot),
  constraint load_balancer_machine_server unique (server_id),
  foreign key (organisation_id, load_balancer_id, region)
    references load_balancer (organisation_id, id, region) on delete cascade,
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region)
);
-- In the order in which a region's agent asks them.
create index load_balancer_machine_region on load_balancer_machine (region, load_balancer_id, slot);
grant select, insert, update, delete on load_balancer_machine to kule_api;
${isolateTenants("load_balancer_machine")}

create table listener (
  id text primary key,
  organisation_id text not null,
  load_balancer_id text not null,
  protocol text not null check (protocol in ('tcp', 'http', 'https', 'tls_passthrough')),
  port integer not null check (port between 1 and 65535),
  target_port integer not null check (target_port between 1 and 65535),
  redirect_to_https boolean not null,
  sticky jsonb,
  proxy_protocol text not null check (proxy_protocol in ('none', 'v1', 'v2')),
  idle_timeout_seconds integer not null check (idle_timeout_seconds > 0),
  allowed_cidrs text[] not null check (cardinality(allowed_cidrs) <= 100),
  health_check jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  constraint listener_port unique (load_balancer_id, port),
  foreign key (organisation_id, load_balancer_id) references load_balancer (organisation_id, id) on delete cascade
);
create index listener_list on listener (organisation_id, load_balancer_id, created_at desc, id desc);
grant select, insert, update, delete on listener to kule_api;
${isolateTenants("listener")}

-- What an https listener answers with. Its key can be opened in the region of the certificate only.
create table listener_certificate (
  listener_id text not null,
  certificate_id text not null,
  organisation_id text not null,
  region text not null,
  load_balancer_id text not null,
  -- The first is the one that is looked at first.
  position smallint not null check (position between 0 and 99),
  primary key (listener_id, certificate_id),
  foreign key (organisation_id, load_balancer_id, region) references load_balancer (organisation_id, id, region) on delete cascade,
  foreign key (organisation_id, listener_id) references listener (organisation_id, id) on delete cascade,
  foreign key (organisation_id, certificate_id, region) references certificate (organisation_id, id, region)
);
create index listener_certificate_use on listener_certificate (organisation_id, certificate_id, listener_id);
create index listener_certificate_of on listener_certificate (organisation_id, load_balancer_id);
grant select, insert, update, delete on listener_certificate to kule_api;
${isolateTenants("listener_certificate")}

create table load_balancer_target (
  id text primary key,
  organisation_id text not null,
  region text not null,
  load_balancer_id text not null,
  server_id text,
  label_selector text,
  address inet,
  weight integer not null check (weight between 0 and 256),
  backup boolean not null,
  drain boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  check (num_nonnulls(server_id, label_selector, address) = 1),
  check (address is null or family(address) = 4 and masklen(address) = 32),
  foreign key (organisation_id, load_balancer_id, region)
    references load_balancer (organisation_id, id, region) on delete cascade,
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region)
);
create unique index load_balancer_target_server on load_balancer_target (load_balancer_id, server_id)
  where server_id is not null;
create unique index load_balancer_target_selector on load_balancer_target (load_balancer_id, label_selector)
  where label_selector is not null;
create unique index load_balancer_target_address on load_balancer_target (load_balancer_id, address)
  where address is not null;
create index load_balancer_target_list on load_balancer_target (organisation_id, load_balancer_id, created_at desc, id desc);
create index load_balancer_target_of_server on load_balancer_target (server_id) where server_id is not null;
grant select, insert, update, delete on load_balancer_target to kule_api;
${isolateTenants("load_balancer_target")}

-- What the region's rounds saw of a machine. Written every round: no index on what changes.
create table load_balancer_sight (
  load_balancer_id text not null,
  slot smallint not null,
  organisation_id text not null,
  -- Of which server it is: that of a former one is not shown.
  server_id text not null,
  asked_at timestamptz not null,
  answered_at timestamptz,
  -- In a row.
  unanswered_asks integer not null default 0,
  role text check (role in ('active', 'standby')),
  connections bigint,
  -- Rates of the listeners, and the health of the targets by listener, in our own words.
  listeners jsonb not null default '[]',
  health jsonb not null default '[]',
  -- The counters that were counted already, by worker of haproxy's.
  counted jsonb,
  -- The last time that it was said to have carried more than it can have, in our own words, for operators.
  implausible text,
  implausible_at timestamptz,
  check ((implausible is null) = (implausible_at is null)),
  primary key (load_balancer_id, slot),
  foreign key (organisation_id, load_balancer_id, slot)
    references load_balancer_machine (organisation_id, load_balancer_id, slot) on delete cascade,
  foreign key (organisation_id, server_id) references server (organisation_id, id)
) with (fillfactor = 50);
-- What operators read of a region. Hardly ever written.
create index load_balancer_sight_implausible on load_balancer_sight (implausible_at desc) where implausible_at is not null;
grant select, insert, update, delete on load_balancer_sight to kule_api;
${isolateTenants("load_balancer_sight")}

-- What listeners have carried. It outlives them, for as long as the load balancer is there.
create table load_balancer_traffic (
  load_balancer_id text not null,
  listener_id text not null,
  hour timestamptz not null,
  organisation_id text not null,
  connections bigint not null check (connections >= 0),
  requests bigint not null check (requests >= 0),
  -- Answers with 500 to 599.
  errors bigint not null default 0 check (errors >= 0),
  bytes_in bigint not null check (bytes_in >= 0),
  bytes_out bigint not null check (bytes_out >= 0),
  -- How much of it usage has, and whether that is all.
  is_metered boolean not null default false,
  metered_connections bigint not null default 0,
  metered_requests bigint not null default 0,
  metered_bytes_in bigint not null default 0,
  metered_bytes_out bigint not null default 0,
  check (metered_connections <= connections and metered_requests <= requests
         and metered_bytes_in <= bytes_in and metered_bytes_out <= bytes_out),
  primary key (load_balancer_id, hour, listener_id),
  foreign key (organisation_id, load_balancer_id) references load_balancer (organisation_id, id) on delete cascade
);
create index load_balancer_traffic_old on load_balancer_traffic (hour);
create index load_balancer_traffic_due on load_balancer_traffic (hour, load_balancer_id) where not is_metered;
grant select, insert, update, delete on load_balancer_traffic to kule_api;
${isolateTenants("load_balancer_traffic")}

/*
 * Servers come, go and change their labels: the load balancers of the organisation that have targets in the region are looked
 * at again, in a transaction of the worker's. A change of a load balancer locks it before the servers that it names, and
 * these transactions have locked a server already.
 */
create function kule_follow_targets() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform 1 from load_balancer b
    where b.organisation_id = new.organisation_id and b.region = new.region and not b.is_deleting limit 1;
  if found then
    perform graphile_worker.add_job('follow_targets',
      json_build_object('organisation_id', new.organisation_id, 'region', new.region),
      job_key => 'targets:' || new.organisation_id || ':' || new.region);
  end if;
  return null;
end $$;
create trigger server_followed after update on server for each row
  when (new.managed_by_type is null and (
    old.labels is distinct from new.labels
    or (old.observed_generation = 0) is distinct from (new.observed_generation = 0)
    or (old.status in ('pending_deletion', 'deleting', 'deleted')) is distinct from
       (new.status in ('pending_deletion', 'deleting', 'deleted'))
    or new.status = 'deleted' and old.status <> 'deleted'))
  execute function kule_follow_targets();

/* New material of a certificate goes to the load balancers that use it, in the same transaction of the worker's. */
create function kule_follow_certificate() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform 1 from listener_certificate c
    where c.organisation_id = new.organisation_id and c.certificate_id = new.id limit 1;
  if found then
    perform graphile_worker.add_job('follow_targets',
      json_build_object('organisation_id', new.organisation_id, 'region', new.region),
      job_key => 'targets:' || new.organisation_id || ':' || new.region);
  end if;
  return null;
end $$;
create trigger certificate_followed after update on certificate for each row
  when (old.version is distinct from new.version) execute function kule_follow_certificate();

/* The lowest number that no pair of machines in the subnet has; null when all 255 are taken. Call it under the subnet's lock. */
create function kule_free_vrid(p_organisation_id text, p_subnet_id text) returns integer
language sql stable set search_path = public, pg_temp as $$
  select n from generate_series(1, 255) as n
   where not exists (select 1 from load_balancer b where b.organisation_id = p_organisation_id
                        and b.subnet_id = p_subnet_id and b.vrid = n)
   order by n limit 1;
$$;
grant execute on function kule_free_vrid(text, text) to kule_api;
`;
