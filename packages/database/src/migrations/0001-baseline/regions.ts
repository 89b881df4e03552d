/** Regions, their agents' reports, and which organisations see a restricted one. */
export const regions = `
create table region (
  slug text primary key,
  -- Part of every MAC address of the region, so that no two regions can generate the same one.
  number smallint not null generated always as identity unique,
  name text not null,
  country text,
  -- A region of mode direct has no agent: the control plane's worker runs its jobs.
  mode text not null default 'agent' check (mode in ('agent', 'direct')),
  maintenance boolean not null default false,
  restricted boolean not null default false,
  vmid_first integer not null,
  vmid_last integer not null,
  vlan_first integer not null,
  vlan_last integer not null,
  agent_version text,
  -- Secrets for the region are sealed to the first key that an agent reported.
  agent_public_key text,
  health jsonb,
  health_at timestamptz,
  health_ok boolean,
  status_since timestamptz,
  generation integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  has_edge boolean not null default false,
  -- What the agent last reported about it.
  edge jsonb,
  edge_at timestamptz,
  agent_key_since timestamptz,
  agent_key_seen_at timestamptz,
  -- Another reported key waits for an operator's approval, with the token of the agent that reported it.
  pending_agent_key text,
  pending_agent_key_since timestamptz,
  pending_agent_key_seen_at timestamptz,
  pending_agent_key_token text,
  pending_agent_key_agent text,
  -- Since the database was restored from a backup; see restores.ts.
  restored_at timestamptz,
  -- When the scan began by which it is known what is in use there.
  restore_scanned_at timestamptz,
  -- When an operator said that what differs was worked through.
  restore_ended_at timestamptz,
  -- An operator accepts a scan that is not complete, as when a node is lost.
  restore_takes_incomplete boolean not null default false,
  check (vmid_first <= vmid_last and vmid_first >= 100),
  check (vlan_first <= vlan_last and vlan_first >= 2 and vlan_last <= 4094),
  constraint region_restore check (
    (restored_at is not null or restore_scanned_at is null)
    and (restore_scanned_at is not null or restore_ended_at is null)),
  constraint region_pending_agent_key check (
    pending_agent_key is null
    or pending_agent_key <> agent_public_key
       and pending_agent_key_since is not null and pending_agent_key_seen_at is not null)
);
grant select, insert, update on region to kule_api;

create table region_organisation (
  region text not null references region (slug),
  organisation_id text not null references organisation (id),
  primary key (region, organisation_id)
);
create index region_organisation_organisation on region_organisation (organisation_id);
grant select, insert, update, delete on region_organisation to kule_api;

-- The codes with which agents enrol, each once. It is of no organisation.
create table region_enrolment (
  id text primary key,
  region text not null references region (slug),
  -- SHA-256 over 190 random bits.
  secret_hash bytea not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index region_enrolment_region on region_enrolment (region);
create index region_enrolment_expires on region_enrolment (expires_at);
grant select, insert, update (used_at), delete on region_enrolment to kule_api;
`;
