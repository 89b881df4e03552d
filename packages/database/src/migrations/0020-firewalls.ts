import { isolateTenants } from "./tenant-isolation.ts";

/**
 * Firewalls, their rules, and what they are attached to. Whom a rule is about may be a subnet, a network or another
 * firewall: those are rows of their own, so that none of them goes while a rule names it, and none is another
 * organisation's or another region's.
 */
export const firewalls = `
create table firewall (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  name text not null,
  description text not null default '',
  labels jsonb not null default '{}',
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint firewall_name unique (organisation_id, region, name)
);
create index firewall_list on firewall (organisation_id, created_at desc, id desc);

create table firewall_rule (
  id text primary key,
  organisation_id text not null,
  region text not null,
  firewall_id text not null,
  position integer not null,
  direction text not null check (direction in ('in', 'out')),
  action text not null check (action in ('allow', 'deny')),
  protocol text not null check (protocol in ('tcp', 'udp', 'icmp', 'icmpv6', 'any')),
  ports text[] not null default '{}',
  priority integer not null check (priority between 0 and 65535),
  description text not null default '',
  enabled boolean not null default true,
  unique (organisation_id, id, region),
  constraint firewall_rule_position unique (firewall_id, position) deferrable initially deferred,
  foreign key (organisation_id, firewall_id, region) references firewall (organisation_id, id, region) on delete cascade,
  check (protocol in ('tcp', 'udp') or ports = '{}')
);
create index firewall_rule_of on firewall_rule (organisation_id, firewall_id, position);

create table firewall_peer (
  rule_id text not null,
  position integer not null,
  organisation_id text not null,
  region text not null,
  kind text not null check (kind in ('any', 'cidr', 'subnet', 'network', 'firewall', 'labels')),
  cidr cidr,
  subnet_id text,
  network_id text,
  peer_firewall_id text,
  label_selector text,
  primary key (rule_id, position),
  foreign key (organisation_id, rule_id, region) references firewall_rule (organisation_id, id, region) on delete cascade,
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region),
  foreign key (organisation_id, network_id, region) references network (organisation_id, id, region),
  foreign key (organisation_id, peer_firewall_id, region) references firewall (organisation_id, id, region),
  check (num_nonnulls(cidr, subnet_id, network_id, peer_firewall_id, label_selector) = (kind <> 'any')::integer),
  check ((kind = 'cidr') = (cidr is not null) and (kind = 'subnet') = (subnet_id is not null)
    and (kind = 'network') = (network_id is not null) and (kind = 'firewall') = (peer_firewall_id is not null)
    and (kind = 'labels') = (label_selector is not null))
);
create index firewall_peer_subnet on firewall_peer (subnet_id) where subnet_id is not null;
create index firewall_peer_network on firewall_peer (network_id) where network_id is not null;
create index firewall_peer_firewall on firewall_peer (peer_firewall_id) where peer_firewall_id is not null;

create table firewall_attachment (
  id text primary key,
  organisation_id text not null,
  region text not null,
  firewall_id text not null,
  server_id text,
  subnet_id text,
  label_selector text,
  created_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  foreign key (organisation_id, firewall_id, region) references firewall (organisation_id, id, region),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region),
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region),
  check (num_nonnulls(server_id, subnet_id, label_selector) = 1),
  constraint firewall_attachment_server unique (firewall_id, server_id),
  constraint firewall_attachment_subnet unique (firewall_id, subnet_id),
  constraint firewall_attachment_labels unique (firewall_id, label_selector)
);
create index firewall_attachment_of on firewall_attachment (organisation_id, firewall_id, created_at);
create index firewall_attachment_to_server on firewall_attachment (server_id) where server_id is not null;
create index firewall_attachment_to_subnet on firewall_attachment (subnet_id) where subnet_id is not null;

-- What a server's VM is to have of the firewalls, and what it has: each stands for a whole list of rules, '' for none.
alter table server
  add column filter_wanted text not null default '',
  add column filter_applied text not null default '',
  -- The job that was to bring the wanted one, and failed.
  add column filter_failed boolean not null default false;

create or replace function kule_task_add(p_task text, p_payload json, p_run_at timestamptz, p_key text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if p_task not in ('expire_removal_buffer', 'check_invariants', 'refresh_filters') then
    raise exception 'task % is not one the API may add', p_task;
  end if;
  perform graphile_worker.add_job(p_task, p_payload, run_at => p_run_at, job_key => p_key, max_attempts => 1000);
end $$;

grant select, insert, update, delete on firewall, firewall_rule, firewall_peer, firewall_attachment to kule_api;
${isolateTenants("firewall")}
${isolateTenants("firewall_rule")}
${isolateTenants("firewall_peer")}
${isolateTenants("firewall_attachment")}
`;
