/**
 * The seals of the audit trail. The worker writes them a few seconds after the rows that they are about, with a key that
 * the database never sees: who changes, removes or adds a row in the sealed past cannot write the seal for it. See docs/products/identity.md.
 */
export const auditSeals = `
create table audit_seal (
  -- Without gaps, in the order in which rows were sealed.
  position bigint primary key,
  audit_id text not null unique,
  -- Whose row it was; still said when the row is gone.
  organisation_id text,
  -- SHA-256 of the row.
  digest bytea not null,
  -- HMAC over all of this and the mac of the position before.
  mac bytea not null,
  key_id text not null,
  sealed_at timestamptz not null default clock_timestamp()
);

-- How far the seals reach; without it nobody would notice that the last of them were cut off.
create table audit_seal_head (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  position bigint not null,
  mac bytea not null,
  -- The latest time of a sealed row: what is older and has no seal was added.
  up_to timestamptz not null,
  key_id text not null,
  head_mac bytea not null
);

-- What the worker found when it last held the trail against its seals.
create table audit_verification (
  -- There is one row.
  singleton boolean primary key default true check (singleton),
  checked_at timestamptz not null,
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
  -- Null also when nobody can say whose row it was.
  organisation_id text,
  at timestamptz
);

-- Seals are the worker's alone, which works as the owner.
grant select on audit_verification, audit_break to kule_api;

-- An entry gets its time from Postgres and cannot be written into the past.
revoke insert on audit from kule_api;
grant insert (
  id, organisation_id, region, actor_type, actor_id, actor_name, action, resource, outcome, http_status, code,
  request_id, source_address, details
) on audit to kule_api;
`;
