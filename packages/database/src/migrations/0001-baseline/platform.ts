/**
 * What belongs to no product: the API's access to the schema, stored answers for repeated requests, and how commit
 * checks refuse.
 */
export const platform = `
create extension if not exists btree_gist;

grant usage on schema public to kule_api;
-- The readiness check compares it with the migrations of the build.
grant select on kule_migration to kule_api;

create table idempotency_key (
  -- '' for callers without an organisation.
  organisation_id text not null,
  subject text not null,
  method text not null,
  path text not null,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  headers jsonb not null,
  body jsonb,
  created_at timestamptz not null default now(),
  primary key (organisation_id, subject, method, path, key)
);
create index idempotency_key_created on idempotency_key (created_at);
grant select, insert, update, delete on idempotency_key to kule_api;

-- The error with which the triggers of the files *-checks.ts end a transaction; see server-checks.ts.
create function kule_refuse_commit(p_rule text, p_message text) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
  raise exception using errcode = '23514', constraint = p_rule, message = p_message;
end $$;
`;
