/** What a person has beside a password. Of people and not of organisations, so there is no row-level security. */
export const secondFactor = `
create table user_totp (
  user_id text primary key references app_user (id),
  -- Sealed with the installation's key, bound to the person: see platform/at-rest.ts.
  sealed_secret text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Null while it is being set up.
  confirmed_at timestamptz,
  -- The period of the last code that was taken; no code of it or an earlier one is taken again.
  last_period bigint not null default 0
);

create table recovery_code (
  user_id text not null references app_user (id),
  -- SHA-256 over 80 random bits.
  code_hash bytea not null,
  used_at timestamptz,
  primary key (user_id, code_hash)
);

-- Sign-ins whose password was right and that wait for the second factor. They are no tokens: nothing else takes them.
create table sign_in (
  id text primary key,
  secret_hash bytea not null,
  user_id text not null references app_user (id),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index sign_in_user on sign_in (user_id);
create index sign_in_expires on sign_in (expires_at);

-- When the session's person last showed who they are.
alter table token add column proven_at timestamptz;

grant select, insert, update, delete on user_totp, recovery_code, sign_in to kule_api;
`;
