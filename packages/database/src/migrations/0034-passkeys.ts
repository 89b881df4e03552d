/** Passkeys, and which challenges were answered. Of people and not of organisations. */
export const passkeys = `
create table passkey (
  id text primary key,
  user_id text not null references app_user (id),
  name text not null,
  -- What the authenticator calls it, in base64url.
  credential text not null unique,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null,
  is_synced boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz
);
create index passkey_user on passkey (user_id, created_at, id);

-- Challenges that were answered. They are sealed and carried by whoever began them: only their use is kept.
create table spent_challenge (
  hash bytea primary key,
  at timestamptz not null default clock_timestamp()
);
create index spent_challenge_at on spent_challenge (at);

grant select, insert, update, delete on passkey, spent_challenge to kule_api;
`;
