import { isolateTenants } from "../tenant-isolation.ts";

/** The members of organisations, and the invitations. */
export const members = `
create table member (
  id text primary key,
  organisation_id text not null references organisation (id),
  user_id text not null references app_user (id),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer', 'billing')),
  created_at timestamptz not null default now(),
  unique (organisation_id, user_id),
  unique (organisation_id, id)
);
create index member_user on member (user_id);
grant select, insert, update, delete on member to kule_api;
${isolateTenants("member")}

-- Only the hash of the secret is stored: whoever has the secret may join once, as the person with that e-mail. Users belong
-- to the whole installation, so nothing here shows whether there is a user with that e-mail.
create table invitation (
  id text primary key,
  organisation_id text not null references organisation (id),
  email text not null,
  email_key text not null check (email_key = lower(email)),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer', 'billing')),
  secret_hash bytea not null,
  -- Who invited, as in the audit trail.
  actor_type text not null,
  actor_id text,
  actor_name text,
  -- The member who invited: their invitations end with their membership. Null for tokens of no person.
  invited_by_user_id text references app_user (id),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  revoked_at timestamptz,
  unique (organisation_id, id),
  check (expires_at > created_at),
  check (accepted_at is null or revoked_at is null)
);
-- A person has one open invitation to an organisation; an expired one is replaced when the next is written.
create unique index invitation_open on invitation (organisation_id, email_key)
  where accepted_at is null and revoked_at is null;
create index invitation_list on invitation (organisation_id, created_at desc, id desc);
create index invitation_expires on invitation (expires_at);
grant select, insert, update, delete on invitation to kule_api;
${isolateTenants("invitation")}
`;
