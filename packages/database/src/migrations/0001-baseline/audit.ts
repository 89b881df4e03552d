/**
 * The audit trail, which the API's role can only append to, and its seals. The worker writes a seal a few seconds
 * after the rows that it covers, with a key that the database never has: whoever changes, deletes or adds a sealed
 * row cannot write a valid seal for it. See docs/products/identity.md.
 */
export const audit = `
-- Partitioned by month (history.ts), by the time that lists are ordered by: a list reads the newest months first, and stops.
-- The key is the order of lists, and no identifier alone: a second row of the same identifier is sealed like any other.
create table audit (
  id text not null,
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
  details jsonb not null default '{}',
  primary key (at, id)
) partition by range (at);
create index audit_organisation on audit (organisation_id, at desc, id desc);
create index audit_resource on audit (resource, at desc, id desc);
-- The trail is read by actor and by action, newest first, and it only grows: without these indexes, a search for the few
-- entries of somebody who seldom acts reads all of them.
create index audit_actor on audit (actor_id, at desc, id desc);
create index audit_action on audit (action, organisation_id, at desc, id desc);
create index audit_action_at on audit (action, at desc, id desc);
-- What was refused or failed is little. The indexes of one organisation's entries and of all entries begin with the same column:
-- Postgres estimates what a row costs from the order of the first one, and would otherwise look for the entries of an organisation
-- that never failed at anything among all that failed.
create index audit_outcome on audit (outcome, organisation_id, at desc, id desc) where outcome <> 'succeeded';
create index audit_outcome_at on audit (outcome, at desc, id desc) where outcome <> 'succeeded';
grant select on audit to kule_api;
-- An entry gets its time from Postgres, so it cannot be backdated.
grant insert (
  id, organisation_id, region, actor_type, actor_id, actor_name, action, resource, outcome, http_status, code,
  request_id, source_address, details
) on audit to kule_api;

create table audit_seal (
  -- Without gaps, in the order in which rows were sealed.
  position bigint primary key,
  audit_id text not null,
  audit_at timestamptz not null,
  -- The organisation of the row; kept when the row is deleted.
  organisation_id text,
  -- SHA-256 of the row.
  digest bytea not null,
  -- HMAC over all of this and the mac of the position before.
  mac bytea not null,
  key_id text not null,
  sealed_at timestamptz not null default clock_timestamp(),
  unique (audit_at, audit_id)
);

-- Where the seals begin after older entries were removed (history.ts): the position before the first seal, and its mac. Entries
-- before a time may be gone, and no others.
create table audit_seal_start (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  position bigint not null,
  mac bytea not null,
  removed_before timestamptz not null,
  key_id text not null,
  start_mac bytea not null
);

-- The position of the last seal; without it the deletion of the last seals would not be noticed.
create table audit_seal_head (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  position bigint not null,
  mac bytea not null,
  -- The latest time of a sealed row: an older row without a seal was added later.
  up_to timestamptz not null,
  key_id text not null,
  head_mac bytea not null
);

-- The result of the worker's last comparison of the trail with its seals.
create table audit_verification (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  checked_at timestamptz not null,
  -- Retention has removed what is older; null when it has removed nothing.
  kept_from timestamptz,
  up_to timestamptz,
  sealed_rows bigint not null
);
create table audit_break (
  number integer primary key,
  reason text not null check (
    reason in ('row_changed', 'row_removed', 'row_added', 'seal_changed', 'seals_removed', 'key_unknown')
  ),
  position bigint,
  audit_id text,
  -- Null also when the organisation of the row is not known.
  organisation_id text,
  at timestamptz
);

-- Only the worker writes seals (worker-rights.ts).
grant select on audit_verification, audit_break to kule_api;
`;
