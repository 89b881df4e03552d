import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Firewalls, their rules, and their attachments. The peer of a rule may be a subnet, a network or another firewall:
 * peers are rows of their own, so that foreign keys prevent deleting a peer while a rule refers to it, and referring
 * to one of another organisation or region. The firewall configuration of a server's VM is in the server's row.
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
grant select, insert, update, delete on firewall to kule_api;
${isolateTenants("firewall")}

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
grant select, insert, update, delete on firewall_rule to kule_api;
${isolateTenants("firewall_rule")}

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
grant select, insert, update, delete on firewall_peer to kule_api;
${isolateTenants("firewall_peer")}
create constraint trigger subnet_open_peer after insert on firewall_peer deferrable initially deferred
  for each row when (new.subnet_id is not null or new.network_id is not null)
  execute function kule_subnet_open_at_commit();

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
grant select, insert, update, delete on firewall_attachment to kule_api;
${isolateTenants("firewall_attachment")}
create constraint trigger subnet_open_attachment after insert on firewall_attachment deferrable initially deferred
  for each row when (new.subnet_id is not null) execute function kule_subnet_open_at_commit();
`;
