import { isolateTenants } from "../tenant-isolation.ts";

/** SSH keys of organisations. */
export const sshKeys = `
create table ssh_key (
  id text primary key,
  organisation_id text not null references organisation (id),
  name text not null,
  public_key text not null,
  fingerprint_sha256 text not null,
  fingerprint_md5 text not null,
  type text not null check (type in ('ed25519', 'ecdsa', 'rsa', 'sk-ed25519', 'sk-ecdsa')),
  bits integer not null,
  comment text not null,
  labels jsonb not null default '{}',
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  created_by jsonb,
  -- When a server was last created or rebuilt with it.
  last_used_at timestamptz,
  unique (organisation_id, id),
  constraint ssh_key_name unique (organisation_id, name),
  constraint ssh_key_fingerprint unique (organisation_id, fingerprint_sha256)
);
create index ssh_key_list on ssh_key (organisation_id, created_at desc, id desc);
grant select, insert, update, delete on ssh_key to kule_api;
${isolateTenants("ssh_key")}
`;
