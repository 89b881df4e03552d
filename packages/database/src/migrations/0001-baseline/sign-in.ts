/**
 * Sign-ins that failed or wait for a second factor, answered challenges, and resets. They belong to people, not to
 * organisations.
 */
export const signIn = `
-- Failed sign-ins, by e-mail and by address, so that guessing is slow whichever replica answers.
create table login_failure (
  subject text not null,
  at timestamptz not null default now()
);
create index login_failure_subject on login_failure (subject, at);
grant select, insert, update, delete on login_failure to kule_api;

-- Sign-ins whose first step succeeded and that wait for the second factor. They are no tokens: nothing else accepts them.
create table sign_in (
  id text primary key,
  secret_hash bytea not null,
  user_id text not null references app_user (id),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  -- The link to the provider that was the first step; the sign-in ends with the link.
  identity_id text references user_identity (id) on delete cascade
);
create index sign_in_user on sign_in (user_id);
create index sign_in_expires on sign_in (expires_at);
create index sign_in_identity on sign_in (identity_id) where identity_id is not null;
grant select, delete on sign_in to kule_api;

-- Challenges that were answered. A challenge is sealed and stored at the client: only its use is stored here.
create table spent_challenge (
  hash bytea primary key,
  at timestamptz not null default clock_timestamp()
);
create index spent_challenge_at on spent_challenge (at);
grant select, insert, update, delete on spent_challenge to kule_api;

-- The secrets with which a lost password can be set, each once.
create table password_reset (
  -- A person has one at a time: a new one replaces the one before.
  user_id text primary key references app_user (id),
  id text not null unique,
  -- SHA-256 over 190 random bits.
  secret_hash bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
grant select, delete on password_reset to kule_api;
`;
