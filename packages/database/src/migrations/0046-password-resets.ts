/** What sets a lost password once. Of people and not of organisations, so there is no row-level security. */
export const passwordResets = `
create table password_reset (
  -- One for a person at a time: a new one ends the one before.
  user_id text primary key references app_user (id),
  id text not null unique,
  -- SHA-256 over 190 random bits.
  secret_hash bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
grant select, insert, update, delete on password_reset to kule_api;
`;
