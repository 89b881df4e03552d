/**
 * What makes an operator is out of reach of the API's role: who is one, and operators' tokens. The API makes such a
 * token only by a function that looks itself whether the caller's own secret is an operator's. See docs/runbooks/database-roles.md.
 */
export const operatorsRights = `
do $$
declare
  columns text;
begin
  select string_agg(quote_ident(attname), ', ') into columns from pg_attribute
   where attrelid = 'app_user'::regclass and attnum > 0 and not attisdropped and attgenerated = ''
     and attname <> 'is_operator';
  revoke insert, update on app_user from kule_api;
  execute format('grant insert (%1$s), update (%1$s) on app_user to kule_api', columns);
end $$;

-- Whose a token is, what it may and its secret never change.
revoke update, delete, truncate on token from kule_api;
grant update (name, expires_at, last_used_at, revoked_at, proven_at) on token to kule_api;

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
revoke execute on function
  kule_guard_operator_token(),
  kule_mint_operator_token(text, text, text, text, text, text[], bytea, integer, text)
from public;
grant execute on function
  kule_mint_operator_token(text, text, text, text, text, text[], bytea, integer, text)
to kule_api;
`;
