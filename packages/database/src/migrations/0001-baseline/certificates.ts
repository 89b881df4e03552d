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
  type text not null check (type in ('uploaded', 'managed')),
  labels jsonb not null default '{}',
  -- Canonical. Of an uploaded one those that are in it, of a managed one those that it is to have.
  domain_names text[] not null check (cardinality(domain_names) > 0),
  -- The one in use; null while there is none.
  version integer check (version <= last_version),
  -- A number is given once, so that no key that was sealed for one fits another.
  last_version integer not null default 0,
  -- Of the version before.
  previous_fingerprint text,
  -- How a managed one's names are proven.
  challenge text check (challenge in ('dns', 'http')),
  -- Where in the CA's window it is renewed, chosen once: not all certificates are to be renewed at the same moment.
  renewal_share double precision not null default random() check (renewal_share between 0 and 1),
  renew_at timestamptz,
  -- What the CA suggests (ARI), and when it is asked again.
  window_start timestamptz,
  window_end timestamptz,
  window_asked_at timestamptz,
  -- Since the last attempt that succeeded.
  failed_attempts integer not null default 0,
  -- Set while an attempt that has failed waits to be made again.
  next_attempt_at timestamptz,
  -- The CA asked not to come before.
  ca_retry_at timestamptz,
  last_error jsonb,
  -- The fewest days before the end of this material that its owner was told.
  warned_days integer,
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  created_by jsonb not null,
  unique (organisation_id, id),
  unique (organisation_id, id, region),
  constraint certificate_name unique (organisation_id, name),
  constraint certificate_uploaded check (type <> 'uploaded' or version is not null),
  constraint certificate_challenge check ((challenge is null) = (type = 'uploaded')),
  constraint certificate_renewal check (renew_at is null or type = 'managed')
);
create index certificate_renewal_due on certificate (renew_at) where renew_at is not null;
create index certificate_window_due on certificate (window_asked_at nulls first) where renew_at is not null;
create index certificate_list on certificate (organisation_id, created_at desc, id desc);
create index certificate_list_by_region on certificate (organisation_id, region, created_at desc, id desc);
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
create index certificate_version_end on certificate_version (not_after);
grant select, insert, update, delete on certificate_version to kule_api;
${isolateTenants("certificate_version")}

/*
 * The attempt to have a managed certificate issued, from the request for it to its end. A failed attempt keeps its request
 * for the next one.
 */
create table certificate_order (
  organisation_id text not null,
  certificate_id text not null,
  -- Of the material that it will bring.
  version integer not null check (version > 0),
  -- requesting: the region makes the key. ready: the CA can be asked. ordered: the names' answers are on their way.
  -- answered: the CA looks for them. finalized: the CA issues it.
  state text not null default 'requesting' check (state in ('requesting', 'ready', 'ordered', 'answered', 'finalized')),
  csr bytea,
  sealed_key text,
  sealed_to text,
  order_url text,
  -- What the CA wants to see for each name.
  answers jsonb not null default '{"authorizations":[],"served":[]}',
  -- When the state began, and when the next step is due. A worker that takes the step moves this on, as a lease.
  state_at timestamptz not null default clock_timestamp(),
  step_at timestamptz not null default clock_timestamp(),
  -- Counts the takings: only who has the present one writes.
  step integer not null default 0,
  primary key (organisation_id, certificate_id),
  constraint certificate_order_certificate_key foreign key (organisation_id, certificate_id)
    references certificate (organisation_id, id) on delete cascade,
  constraint certificate_order_request check (state = 'requesting' or csr is not null and sealed_key is not null
    and sealed_to is not null),
  constraint certificate_order_ordered check (state in ('requesting', 'ready') or order_url is not null)
);
create index certificate_order_due on certificate_order (step_at);
grant select, insert, update, delete on certificate_order to kule_api;
${isolateTenants("certificate_order")}

/* A step is a task of the worker's at its time; the recurring task finds what was lost. */
create function kule_order_step() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform graphile_worker.add_job('step_certificate_order',
    json_build_object('organisation_id', new.organisation_id, 'certificate_id', new.certificate_id),
    job_key => 'order:' || new.certificate_id, run_at => new.step_at, max_attempts => 3);
  return null;
end $$;
create trigger certificate_order_stepped after insert or update of step_at, state on certificate_order for each row
  when (new.state <> 'requesting') execute function kule_order_step();

-- What domains serve beside their record sets while a CA looks for it.
create table domain_challenge (
  organisation_id text not null,
  domain_id text not null,
  certificate_id text not null,
  -- Relative to the domain, of a TXT record.
  name text not null,
  value text not null,
  primary key (organisation_id, domain_id, certificate_id, name, value),
  constraint domain_challenge_domain_key foreign key (organisation_id, domain_id)
    references domain (organisation_id, id) on delete cascade,
  constraint domain_challenge_certificate_key foreign key (organisation_id, certificate_id)
    references certificate (organisation_id, id) on delete cascade
);
create index domain_challenge_of on domain_challenge (organisation_id, certificate_id);
grant select, insert, delete on domain_challenge to kule_api;
${isolateTenants("domain_challenge")}

-- The installation's account at each CA that it has used. The key is encrypted under the master key, which only the worker has.
create table acme_account (
  directory_url text primary key,
  encrypted_key text not null,
  -- Null until the CA has made it.
  account_url text,
  -- What answers over HTTP contain.
  thumbprint text not null,
  -- The one that was taken into use last is the installation's: load balancers answer with its thumbprint.
  in_use_since timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp()
);
grant select, insert, update on acme_account to kule_api;
`;
