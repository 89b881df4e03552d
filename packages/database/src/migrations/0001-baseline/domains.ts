import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Domains and their record sets. Kule's rows are the truth; the DNS provider has a copy, which the jobs of a domain
 * compare and change.
 *
 * As with networks, `generation` counts every change and `observed_generation` is the last one that the name servers have.
 */
export const domains = `
create table domain (
  id text primary key,
  organisation_id text not null references organisation (id),
  -- Lower case, ASCII, without the final dot.
  name text not null,
  -- Finds the names inside of another one by their beginning.
  reversed_name text not null generated always as (reverse(name)) stored,
  status text not null default 'pending' check (status in
    ('pending', 'expired', 'lost', 'provisioning', 'active', 'updating', 'error', 'pending_deletion', 'deleting')),
  -- Whether the name is this organisation's: from its proof until the provider has it no more.
  is_verified boolean not null generated always as (status not in ('pending', 'expired', 'lost')) stored,
  description text not null default '',
  labels jsonb not null default '{}',
  protect_delete boolean not null default false,
  default_ttl_seconds integer not null check (default_ttl_seconds between 60 and 604800),
  -- Secret of the organisation: the value of the TXT record that proves the name.
  verification_token text not null,
  -- In the name servers' names: no other domain has it, or ever had.
  label text not null,
  -- The label's own name servers, and those that every domain has; without the final dot.
  name_servers text[] not null,
  verification_seen text,
  verification_checked_at timestamptz,
  verified_at timestamptz,
  -- Its TXT record, its delegation, or that the organisation has its parent domain: then it ends with the parent.
  verified_by text check (verified_by in ('record', 'name_servers', 'parent')),
  -- It was the organisation's and is not any more: when the name servers have it no more its row stays, as lost.
  ends_lost boolean not null default false,
  -- Names inside of this one that other organisations had before it was proven: they are delegated to their own name
  -- servers for as long as those organisations have them.
  kept_delegations text[] not null default '{}',
  dnssec_enabled boolean not null default false,
  ds_records text[] not null default '{}',
  serial bigint,
  -- What the parent's name servers said.
  delegation_state text not null default 'unknown'
    check (delegation_state in ('unknown', 'none', 'elsewhere', 'partial', 'right')),
  delegation_observed text[] not null default '{}',
  delegation_checked_at timestamptz,
  -- What somebody has changed at the provider; null when nothing is known to be.
  drift jsonb,
  -- When the provider's zone was last compared.
  compared_at timestamptz,
  record_count integer not null default 0 check (record_count >= 0),
  record_limit integer not null default 10000 check (record_limit >= 0),
  deletion_requested_at timestamptz,
  purge_at timestamptz,
  status_code text,
  status_message text,
  status_job_id text,
  generation integer not null default 1,
  observed_generation integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  constraint domain_name unique (organisation_id, name),
  constraint domain_label unique (label),
  check (observed_generation <= generation),
  check ((purge_at is null) = (deletion_requested_at is null)),
  check (status <> 'pending_deletion' or purge_at is not null),
  check (status in ('pending', 'expired', 'lost') or verified_by is not null),
  check (not ends_lost or status in ('deleting', 'lost'))
);
-- One organisation has a name; many may try to prove it.
create unique index domain_of_one on domain (name) where is_verified;
-- For the claims on a name and its parents.
create index domain_claimed on domain (name) where status not in ('expired', 'lost');
create index domain_inside on domain (reversed_name text_pattern_ops);
create index domain_list on domain (organisation_id, created_at desc, id desc);
create index domain_unproven on domain (status, created_at) where not is_verified;
create index domain_compared on domain (compared_at) where is_verified;
create index domain_delegation on domain (delegation_checked_at nulls first) where is_verified;
create index domain_failed on domain (updated_at) where is_verified and status_code is not null;
create index domain_by_parent on domain (organisation_id) where is_verified and verified_by = 'parent';
create index domain_purge on domain (purge_at) where status = 'pending_deletion';
grant select, insert, update, delete on domain to kule_api;
${isolateTenants("domain")}

create table record_set (
  organisation_id text not null references organisation (id),
  domain_id text not null,
  -- Relative to the domain; '@' is the domain itself. Canonical, as are the values.
  name text not null,
  type text not null check (type in
    ('A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA', 'PTR', 'TLSA', 'SSHFP')),
  ttl_seconds integer not null check (ttl_seconds between 60 and 604800),
  values text[] not null check (cardinality(values) between 1 and 100),
  -- Of the value auto:srv_…: the server whose addresses are served.
  server_id text,
  managed_by text,
  comment text not null default '',
  -- The etag.
  version integer not null default 1,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (organisation_id, domain_id, name, type),
  constraint record_set_domain_key foreign key (organisation_id, domain_id)
    references domain (organisation_id, id) on delete cascade,
  constraint record_set_server_key foreign key (organisation_id, server_id) references server (organisation_id, id),
  constraint record_set_follows_addresses check (server_id is null or type in ('A', 'AAAA'))
);
create index record_set_of_type on record_set (organisation_id, domain_id, type, name);
create index record_set_server on record_set (organisation_id, server_id) where server_id is not null;
grant select, insert, update, delete on record_set to kule_api;
${isolateTenants("record_set")}

/* Keeps domain.record_count. */
create function kule_count_record_sets() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update domain set record_count = record_count + case tg_op when 'INSERT' then counted.amount else -counted.amount end
    from (select organisation_id, domain_id, count(*)::integer as amount from changed group by 1, 2) counted
   where domain.organisation_id = counted.organisation_id and domain.id = counted.domain_id;
  return null;
end $$;
create trigger record_set_counted_insert after insert on record_set
  referencing new table as changed for each statement execute function kule_count_record_sets();
create trigger record_set_counted_delete after delete on record_set
  referencing old table as changed for each statement execute function kule_count_record_sets();

/*
 * Record sets that follow a server have to be served anew when its VM gets an address or loses one, whatever the reason. The
 * task has a transaction of its own, which locks the domains.
 */
create function kule_follow_addresses() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_server_id text;
begin
  for v_server_id in
    select distinct r.server_id from record_set r
     where r.organisation_id = new.organisation_id and r.server_id in (old.server_id, new.server_id)
  loop
    perform graphile_worker.add_job('follow_addresses',
      json_build_object('organisation_id', new.organisation_id, 'server_id', v_server_id),
      job_key => 'follow:' || v_server_id);
  end loop;
  return null;
end $$;
create trigger public_ip_followed after update on public_ip for each row
  when (old.is_applied is distinct from new.is_applied or old.is_applied and old.server_id is distinct from new.server_id)
  execute function kule_follow_addresses();

/*
 * Who has, or wants, a name, one of its parents, or a name inside of it: the only thing that an organisation's transaction
 * may know of others' domains, and only the rules of ownership look at it. At most 1,000 names inside.
 */
create function kule_domain_claims(p_name text) returns table (
  id text, organisation_id text, name text, is_verified boolean, created_at timestamptz, label text, name_servers text[],
  is_by_parent boolean, is_leaving boolean, is_busy boolean
) language sql stable security definer set search_path = public, pg_temp as $$
  with parent as (
    select array_to_string(labels[n:], '.') as name
      from (select string_to_array(p_name, '.') as labels) split, generate_subscripts(split.labels, 1) as n
  )
  select d.id, d.organisation_id, d.name, d.is_verified, d.created_at, d.label, d.name_servers,
         d.is_verified and d.verified_by = 'parent', d.status in ('pending_deletion', 'deleting'),
         d.is_verified and d.name = p_name and exists (
           select from job j where j.organisation_id = d.organisation_id and j.resource_id = d.id
              and j.status in ('queued', 'running'))
    from domain d where d.name in (select name from parent) and d.status not in ('expired', 'lost')
  union all
  (select d.id, d.organisation_id, d.name, d.is_verified, d.created_at, d.label, d.name_servers,
          d.verified_by = 'parent', d.status in ('pending_deletion', 'deleting'), false
     from domain d
    where d.is_verified
      -- All names that end with a dot and this one. A LIKE with a parameter would read the whole table.
      and d.reversed_name ~>=~ reverse('.' || p_name) and d.reversed_name ~<~ (reverse('.' || p_name) || '~')
    limit 1000);
$$;
/* Whether a verified domain, of whatever organisation, has name servers for a name inside of it, or for one between. */
create function kule_domain_delegates(p_organisation_id text, p_domain_id text, p_names text[]) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select 1 from record_set
     where organisation_id = p_organisation_id and domain_id = p_domain_id and type = 'NS' and name = any (p_names));
$$;
/* Ends the claims of other organisations on a name that was just proven. */
create function kule_domain_lost(p_ids text[]) returns void
language sql security definer set search_path = public, pg_temp as $$
  update domain set status = 'lost', updated_at = clock_timestamp(), generation = generation + 1
   where id = any (p_ids) and status = 'pending';
$$;
/* Ends the domain of another organisation whose name was just proven: the zone of that name is somebody else's now. */
create function kule_domain_taken(p_id text) returns void
language sql security definer set search_path = public, pg_temp as $$
  update domain set status = 'lost', ends_lost = true, updated_at = clock_timestamp(), generation = generation + 1,
         deletion_requested_at = null, purge_at = null, dnssec_enabled = false, ds_records = '{}', drift = null,
         status_code = null, status_message = null, status_job_id = null
   where id = p_id and is_verified;
$$;
/*
 * What ends without a request of its organisation is noted there, and what was the organisation's by it alone ends too: in
 * a transaction of the worker's, which may write in every organisation.
 */
create function kule_note_domain_end() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform graphile_worker.add_job('end_domain', json_build_object(
    'organisation_id', old.organisation_id, 'domain_id', old.id, 'name', old.name,
    'status', case when tg_op = 'DELETE' then 'deleted' else new.status end, 'was_proven', old.is_verified));
  return null;
end $$;
create trigger domain_ended after update of status on domain for each row
  when (new.status in ('lost', 'expired') and old.status <> new.status)
  execute function kule_note_domain_end();
create trigger domain_removed after delete on domain for each row
  when (old.is_verified) execute function kule_note_domain_end();
/* The name servers of proven domains, of whatever organisations: what a parent's delegation of them has to say. */
create function kule_domain_name_servers(p_names text[]) returns table (name text, name_servers text[])
language sql stable security definer set search_path = public, pg_temp as $$
  select d.name, d.name_servers from domain d where d.name = any (p_names) and d.is_verified;
$$;
grant execute on function kule_domain_claims(text), kule_domain_delegates(text, text, text[]), kule_domain_lost(text[]),
  kule_domain_taken(text), kule_domain_name_servers(text[]) to kule_api;
`;
