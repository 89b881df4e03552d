/** Organisations and their quotas. */
export const organisations = `
create table organisation (
  id text primary key,
  slug text not null unique,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- The most servers that it may have; null means no limit, here and below. Compared with quota_count, under this row's lock.
  server_limit integer check (server_limit >= 0),
  generation integer not null default 1,
  -- The sequence number of the last usage event; the lock of this row orders the organisation's events.
  usage_seq bigint not null default 0,
  -- The balances of its usage have all that began or ended before this (usage_balance); null before there are any.
  usage_balanced_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  vcpu_limit integer check (vcpu_limit >= 0),
  memory_mb_limit integer check (memory_mb_limit >= 0),
  disk_gb_limit integer check (disk_gb_limit >= 0),
  network_limit integer check (network_limit >= 0),
  subnet_limit integer check (subnet_limit >= 0),
  ssh_key_limit integer check (ssh_key_limit >= 0),
  public_ip_limit integer check (public_ip_limit >= 0),
  firewall_limit integer check (firewall_limit >= 0),
  -- The rules of all its firewalls together.
  firewall_rule_limit integer check (firewall_rule_limit >= 0),
  gateway_limit integer check (gateway_limit >= 0),
  -- Members and open invitations together.
  member_limit integer check (member_limit >= 0),
  domain_limit integer check (domain_limit >= 0),
  certificate_limit integer check (certificate_limit >= 0),
  load_balancer_limit integer check (load_balancer_limit >= 0)
);
grant select, insert, update on organisation to kule_api;
`;
