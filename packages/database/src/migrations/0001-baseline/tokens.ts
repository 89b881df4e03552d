/**
 * Tokens: of organisations, operators, agents and sessions.
 *
 * The API's role cannot make anybody an operator. It creates an operator's token only by a function that itself
 * verifies whether the caller's own secret is an operator's. See docs/runbooks/database-roles.md.
 */
export const tokens = `
create table token (
  id text primary key,
  kind text not null check (kind in ('organisation', 'operator', 'agent', 'session')),
  organisation_id text references organisation (id),
  user_id text references app_user (id),
  region text references region (slug),
  name text not null,
  -- Null for a session, which has the current role of its user.
  role text check (role in ('owner', 'admin', 'member', 'viewer', 'billing')),
  scopes text[] not null default '{}',
  secret_hash bytea not null,
  lifetime_seconds integer,
  created_by text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- What people see of their own sessions.
  opened_by text,
  user_agent text,
  source_address text,
  -- Null: it is valid until expires_at, whether it is used or not.
  idle_seconds integer check (idle_seconds > 0),
  -- When the session's person last proved their identity.
  proven_at timestamptz,
  -- What opened a session, beside opened_by.
  identity_id text references user_identity (id) on delete set null,
  -- Why an operator entered an organisation with this token, or with the one that created it; null for all others.
  operator_reason text,
  check (case kind
    when 'organisation' then organisation_id is not null and role is not null and region is null
    when 'operator' then organisation_id is null and role is null and region is null
    when 'agent' then organisation_id is null and role is null and region is not null
    when 'session' then user_id is not null and role is null and region is null and expires_at is not null
  end),
  constraint token_of_session check (
    kind = 'session' or (opened_by is null and user_agent is null and source_address is null and idle_seconds is null)
  ),
  constraint token_identity_of_session check (kind = 'session' or identity_id is null)
);
create index token_organisation on token (organisation_id, created_at desc, id desc);
create index token_region on token (region, created_at desc, id desc) where kind = 'agent';
create index token_user on token (user_id);
create index token_identity on token (identity_id) where identity_id is not null;

-- The owner, the permissions and the secret of a token never change.
grant select, insert, update (name, expires_at, last_used_at, revoked_at, proven_at) on token to kule_api;

create function kule_token_announce() returns trigger language plpgsql as $$
begin
  perform pg_notify('kule_token', new.id);
  return null;
end $$;
create trigger token_announce after update on token for each row
  when (old.revoked_at is distinct from new.revoked_at or old.expires_at is distinct from new.expires_at)
  execute function kule_token_announce();

create function kule_guard_operator_token() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not pg_has_role(current_user, (select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege using message = 'an operator''s token is made by kule_mint_operator_token';
  end if;
  return new;
end $$;
create trigger operator_token before insert on token for each row
  when (new.kind = 'operator') execute function kule_guard_operator_token();

create function kule_mint_operator_token(
  minter_id text, minter_secret text,
  id text, user_id text, name text, scopes text[], secret_hash bytea, lifetime_seconds integer, created_by text
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (
    select from public.token t left join public.app_user u on u.id = t.user_id
     where t.id = minter_id and t.secret_hash = sha256(convert_to(minter_secret, 'UTF8'))
       and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())
       and (t.kind = 'session' and u.is_operator or t.kind = 'operator' and (t.user_id is null or u.is_operator))
  ) then
    raise insufficient_privilege using message = 'only an operator''s own secret makes an operator''s token';
  end if;
  insert into public.token (
    id, kind, user_id, name, scopes, secret_hash, lifetime_seconds, created_by, expires_at
  ) values (
    kule_mint_operator_token.id, 'operator', kule_mint_operator_token.user_id, kule_mint_operator_token.name,
    kule_mint_operator_token.scopes, kule_mint_operator_token.secret_hash, kule_mint_operator_token.lifetime_seconds,
    kule_mint_operator_token.created_by,
    clock_timestamp() + make_interval(secs => kule_mint_operator_token.lifetime_seconds)
  );
end $$;
grant execute on function
  kule_mint_operator_token(text, text, text, text, text, text[], bytea, integer, text)
to kule_api;
`;
