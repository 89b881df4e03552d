/**
 * People: their passwords, second factors, passkeys and linked accounts. They belong to the whole installation and
 * not to an organisation, so there is no row-level security.
 *
 * The API's role cannot change how people sign in: it reads no password hash, does not write the hash of an existing
 * account, and adds a sign-in method only by the functions of sign-in-functions.ts
 * (docs/adr/0028-sign-ins-by-functions.md). It cannot change who is an operator either
 * (docs/runbooks/database-roles.md).
 */
export const account = `
create table app_user (
  id text primary key,
  email text not null,
  email_key text not null generated always as (lower(email)) stored unique,
  name text not null,
  -- Null for a person who only signs in with a provider.
  password_hash text,
  is_operator boolean not null default false,
  created_at timestamptz not null default now(),
  password_changed_at timestamptz,
  -- When an operator removed a lost second factor.
  second_factor_reset_at timestamptz,
  has_password boolean not null generated always as (password_hash is not null) stored
);
grant select (
  id, email, email_key, name, has_password, is_operator, created_at, password_changed_at, second_factor_reset_at
) on app_user to kule_api;
-- A new account has no organisation yet.
grant insert (id, email, name, password_hash) on app_user to kule_api;
grant update (second_factor_reset_at) on app_user to kule_api;

create table user_totp (
  user_id text primary key references app_user (id),
  -- Sealed with the installation's key, bound to the person: see platform/at-rest.ts.
  sealed_secret text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Null while it is being set up.
  confirmed_at timestamptz,
  -- The period of the last accepted code; no code of this or an earlier period is accepted again.
  last_period bigint not null default 0
);

create table recovery_code (
  user_id text not null references app_user (id),
  -- SHA-256 over 80 random bits.
  code_hash bytea not null,
  used_at timestamptz,
  primary key (user_id, code_hash)
);
grant select, insert, update, delete on user_totp, recovery_code to kule_api;

create table passkey (
  id text primary key,
  user_id text not null references app_user (id),
  name text not null,
  -- The id that the authenticator gave it, in base64url.
  credential text not null unique,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null,
  is_synced boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz
);
create index passkey_user on passkey (user_id, created_at, id);
grant select, delete, update (name, sign_count, last_used_at) on passkey to kule_api;

-- An account at an OpenID Connect provider, known by issuer and subject.
create table user_identity (
  id text primary key,
  user_id text not null references app_user (id),
  issuer text not null,
  subject text not null,
  -- What the provider reported last. It is only shown to the person: no account is found by it.
  email text,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  unique (issuer, subject)
);
create index user_identity_user on user_identity (user_id, created_at, id);
grant select, delete, update (email, last_used_at) on user_identity to kule_api;
`;
