/** The agents of the regions with their versions, and the rollouts of agent releases. They belong to operators. */
export const agentUpdates = `
-- An agent is what reports under a token by a name: two of a region may share either. Those that are silent for a day
-- are removed.
create table region_agent (
  region text not null references region (slug),
  token_id text not null,
  -- '' for an agent that does not name itself.
  name text not null,
  version text not null,
  architecture text check (architecture in ('x64', 'arm64')),
  can_update boolean not null default false,
  -- Its last update as it reports it: version, state, code, message, at.
  update_report jsonb,
  reported_at timestamptz not null default clock_timestamp(),
  primary key (region, token_id, name)
  -- Every report writes the row, and nothing of it is in an index but its key.
) with (fillfactor = 50);
grant select, insert, update, delete on region_agent to kule_api;

create table agent_update_settings (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  channel text not null default 'stable' check (channel in ('stable', 'candidate')),
  -- Null: always.
  update_window jsonb,
  paused boolean not null default false,
  wait_minutes integer not null default 60 check (wait_minutes between 0 and 10080),
  max_at_once integer not null default 5 check (max_at_once between 1 and 100),
  automatic boolean not null default false,
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
insert into agent_update_settings default values;
grant select, update on agent_update_settings to kule_api;

create table agent_rollout (
  id text primary key,
  version text not null,
  status text not null default 'running' check (status in ('running', 'paused', 'stopped', 'done', 'cancelled')),
  -- Why it stopped.
  reason text,
  automatic boolean not null default false,
  first_region text references region (slug),
  -- What the manifest said when the rollout was started.
  architectures text[] not null,
  release_expires_at timestamptz not null,
  waits_for text check (waits_for in ('regions', 'time', 'window', 'paused_settings')),
  waits_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  check ((status in ('done', 'cancelled')) = (ended_at is not null)),
  check (status <> 'stopped' or reason is not null)
);
-- Every health report looks here: without an open rollout it reads an empty index.
create unique index agent_rollout_one_open on agent_rollout ((true)) where status in ('running', 'paused', 'stopped');
create index agent_rollout_list on agent_rollout (created_at desc, id desc);
create index agent_rollout_version on agent_rollout (version);
grant select, insert, update on agent_rollout to kule_api;

create table agent_rollout_region (
  rollout_id text not null references agent_rollout (id),
  region text not null references region (slug),
  -- The order in which regions are offered the version.
  position integer not null,
  state text not null default 'waiting' check (state in ('waiting', 'offered', 'updated', 'failed', 'skipped')),
  reason text,
  offered_at timestamptz,
  ended_at timestamptz,
  -- What the region was like when it was offered the version: what it must not be worse than.
  baseline jsonb,
  primary key (rollout_id, region),
  unique (rollout_id, position),
  check ((state in ('updated', 'failed', 'skipped')) = (ended_at is not null)),
  check (state not in ('offered', 'updated') or offered_at is not null and baseline is not null)
);
create index agent_rollout_region_region on agent_rollout_region (region);
grant select, insert, update on agent_rollout_region to kule_api;
`;
