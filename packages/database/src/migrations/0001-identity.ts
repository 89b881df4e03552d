/** Organisations, users, members, tokens, regions: who calls and what an installation consists of. */
export const identity = `
create table organisation (
  id text primary key,
  slug text not null unique,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- Most servers it may have; null is no limit. Counted from the rows, under this row's lock.
  server_limit integer check (server_limit >= 0),
  generation integer not null default 1,
  -- The last sequence number given to a usage event; its row lock orders the organisation's events.
  usage_seq bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table app_user (
  id text primary key,
  email text not null,
  email_key text not null generated always as (lower(email)) stored unique,
  name text not null,
  password_hash text not null,
  is_operator boolean not null default false,
  created_at timestamptz not null default now()
);

create table member (
  id text primary key,
  organisation_id text not null references organisation (id),
  user_id text not null references app_user (id),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer', 'billing')),
  created_at timestamptz not null default now(),
  unique (organisation_id, user_id),
  unique (organisation_id, id)
);
create index member_user on member (user_id);

create table region (
  slug text primary key,
  -- Part of every MAC address of the region, so that no two regions can make the same one.
  number smallint not null generated always as identity unique,
  name text not null,
  country text,
  mode text not null default 'agent' check (mode in ('agent')),
  maintenance boolean not null default false,
  restricted boolean not null default false,
  vmid_first integer not null,
  vmid_last integer not null,
  vlan_first integer not null,
  vlan_last integer not null,
  agent_version text,
  agent_public_key text,
  health jsonb,
  health_at timestamptz,
  health_ok boolean,
  status_since timestamptz,
  generation integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (vmid_first <= vmid_last and vmid_first >= 100),
  check (vlan_first <= vlan_last and vlan_first >= 2 and vlan_last <= 4094)
);

create table region_organisation (
  region text not null references region (slug),
  organisation_id text not null references organisation (id),
  primary key (region, organisation_id)
);
create index region_organisation_organisation on region_organisation (organisation_id);

create table token (
  id text primary key,
  kind text not null check (kind in ('organisation', 'operator', 'agent', 'session')),
  organisation_id text references organisation (id),
  user_id text references app_user (id),
  region text references region (slug),
  name text not null,
  -- Null for a session: it has the role its user has now.
  role text check (role in ('owner', 'admin', 'member', 'viewer', 'billing')),
  scopes text[] not null default '{}',
  secret_hash bytea not null,
  lifetime_seconds integer,
  created_by text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  check (case kind
    when 'organisation' then organisation_id is not null and role is not null and region is null
    when 'operator' then organisation_id is null and role is null and region is null
    when 'agent' then organisation_id is null and role is null and region is not null
    when 'session' then user_id is not null and role is null and region is null and expires_at is not null
  end)
);
create index token_organisation on token (organisation_id, created_at desc, id desc);
create index token_region on token (region, created_at desc, id desc) where kind = 'agent';
create index token_user on token (user_id);

-- Failed sign-ins, by e-mail and by address, so that guessing is slow whichever replica is asked.
create table login_failure (
  subject text not null,
  at timestamptz not null default now()
);
create index login_failure_subject on login_failure (subject, at);

create table audit (
  id text primary key,
  at timestamptz not null default clock_timestamp(),
  organisation_id text,
  region text,
  actor_type text not null,
  actor_id text,
  actor_name text,
  action text not null,
  resource text,
  outcome text not null check (outcome in ('succeeded', 'refused', 'failed')),
  http_status integer not null,
  code text,
  request_id text not null,
  source_address text,
  details jsonb not null default '{}'
);
create index audit_organisation on audit (organisation_id, at desc, id desc);
create index audit_at on audit (at desc, id desc);
create index audit_resource on audit (resource, at desc, id desc);

create table idempotency_key (
  -- '' for callers without an organisation.
  organisation_id text not null,
  subject text not null,
  method text not null,
  path text not null,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  headers jsonb not null,
  body jsonb,
  created_at timestamptz not null default now(),
  primary key (organisation_id, subject, method, path, key)
);
create index idempotency_key_created on idempotency_key (created_at);

-- What the worker found when it last held the database against its invariants.
create table invariant_report (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  -- When the snapshot was taken that it is about.
  checked_at timestamptz not null,
  duration_ms integer not null,
  interval_seconds integer not null,
  checks jsonb not null,
  violations jsonb not null,
  failures jsonb not null
);
`;
