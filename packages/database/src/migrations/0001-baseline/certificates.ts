import { isolateTenants } from "../tenant-isolation.ts";

/**
 * TLS certificates. A private key is here only as it was sealed to the agent of the certificate's region, whose own key is
 * not in the database.
 */
export const certificates = `
create table certificate (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null references region (slug),
  name text not null,
  type text not null check (type in ('uploaded')),
  labels jsonb not null default '{}',
  -- Canonical. Of an uploaded one those that are in it.
  domain_names text[] not null check (cardinality(domain_names) > 0),
  -- The one in use; null while there is none.
  version integer check (version <= last_version),
  -- A number is given once, so that no key that was sealed for one fits another.
  last_version integer not null default 0,
  -- Of the version before.
  previous_fingerprint text,
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  created_by jsonb not null,
  unique (organisation_id, id),
  constraint certificate_name unique (organisation_id, name),
  constraint certificate_uploaded check (type <> 'uploaded' or version is not null)
);
create index certificate_list on certificate (organisation_id, created_at desc, id desc);
grant select, insert, update, delete on certificate to kule_api;
${isolateTenants("certificate")}

-- The material of a certificate: one row for each certificate that has any.
create table certificate_version (
  organisation_id text not null,
  certificate_id text not null,
  version integer not null check (version > 0),
  -- The certificate first, then what leads from it to a root.
  chain_pem text not null,
  -- Its private key, sealed to sealed_to with the context 'id:version'.
  sealed_key text not null,
  -- The agent's key. Another one of the region cannot open what was sealed to it.
  sealed_to text not null,
  warnings jsonb not null default '[]',
  issuer text not null,
  serial text not null,
  key_type text not null,
  names text[] not null,
  not_before timestamptz not null,
  not_after timestamptz not null,
  fingerprint_sha256 text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (organisation_id, certificate_id, version),
  constraint certificate_version_certificate_key foreign key (organisation_id, certificate_id)
    references certificate (organisation_id, id) on delete cascade
);
grant select, insert, update, delete on certificate_version to kule_api;
${isolateTenants("certificate_version")}
`;
