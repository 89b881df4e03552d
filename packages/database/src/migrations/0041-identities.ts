/**
 * Who a person is elsewhere: an account at an OpenID Connect provider, known by issuer and subject. Of people and not
 * of organisations.
 */
export const identities = `
-- Who only signs in with a provider has none.
alter table app_user alter column password_hash drop not null;
-- When an operator took a lost second factor away.
alter table app_user add column second_factor_reset_at timestamptz;

create table user_identity (
  id text primary key,
  user_id text not null references app_user (id),
  issuer text not null,
  subject text not null,
  -- What the provider said last; for the person's eyes, nobody is found by it.
  email text,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  unique (issuer, subject)
);
create index user_identity_user on user_identity (user_id, created_at, id);

-- Whose provider was the first step; what it began ends with the link.
alter table sign_in add column identity_id text references user_identity (id) on delete cascade;
create index sign_in_identity on sign_in (identity_id) where identity_id is not null;
-- What a session was opened by, beside opened_by.
alter table token
  add column identity_id text references user_identity (id) on delete set null,
  add constraint token_identity_of_session check (kind = 'session' or identity_id is null);
create index token_identity on token (identity_id) where identity_id is not null;

grant select, insert, update, delete on user_identity to kule_api;
`;
