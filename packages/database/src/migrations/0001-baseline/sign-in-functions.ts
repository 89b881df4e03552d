/**
 * The API's role cannot change how people sign in: it opens no session, adds no sign-in method and creates no reset
 * except by functions that require a proof. What Postgres cannot verify is in docs/adr/0028-sign-ins-by-functions.md.
 */
export const signInFunctions = `
-- The parameters of a password's hash, without the hash.
create function kule_password_parameters(user_id text) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select substring(u.password_hash from '^(.*)[$][^$]*$') from public.app_user u where u.id = user_id
$$;

-- Compares hashes of both, so that the time does not depend on how many bytes are equal.
create function kule_is_password(user_id text, hash text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from public.app_user u
                  where u.id = user_id and sha256(convert_to(u.password_hash, 'UTF8')) = sha256(convert_to(hash, 'UTF8')))
$$;

-- The user whom the proof belongs to; null when it proves nothing. A sign-in that waited for its second step is consumed.
create function kule_person_shown(proof jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  person text;
begin
  case proof ->> 'by'
    when 'password' then
      select u.id into person from public.app_user u
       where u.id = proof ->> 'user'
         and sha256(convert_to(u.password_hash, 'UTF8')) = sha256(convert_to(proof ->> 'hash', 'UTF8'))
         for share;
    when 'sign_in' then
      delete from public.sign_in s
       where s.id = proof ->> 'id' and s.secret_hash = sha256(convert_to(proof ->> 'secret', 'UTF8'))
         and s.expires_at > clock_timestamp()
      returning s.user_id into person;
    when 'session' then
      select t.user_id into person from public.token t
       where t.id = proof ->> 'id' and t.secret_hash = sha256(convert_to(proof ->> 'secret', 'UTF8'))
         and t.kind = 'session' and t.revoked_at is null
         and clock_timestamp() < least(
           t.expires_at, coalesce(t.last_used_at, t.created_at) + make_interval(secs => t.idle_seconds));
    -- The API verifies its signature. It has recorded this use, and consumed the challenge, in this transaction.
    when 'passkey' then
      select p.user_id into person from public.passkey p
       where p.id = proof ->> 'id' and p.last_used_at >= transaction_timestamp()
         and exists (select from public.spent_challenge c
                      where c.hash = decode(proof ->> 'challenge', 'hex') and c.at >= transaction_timestamp());
    -- The API verifies the provider's token. It has recorded this use in this transaction.
    when 'identity' then
      select i.user_id into person from public.user_identity i
       where i.id = proof ->> 'id' and greatest(i.created_at, i.last_used_at) >= transaction_timestamp();
    else
      person := null;
  end case;
  return person;
end $$;

create function kule_has_second_factor(person text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from public.user_totp t where t.user_id = person and t.confirmed_at is not null)
      or exists (select from public.passkey p where p.user_id = person)
$$;

-- Null, and nothing written, when the proof is not the user's, or a password alone is not enough.
create function kule_open_session(proof jsonb, session jsonb) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  person text := public.kule_person_shown(proof);
  ends timestamptz := clock_timestamp() + make_interval(secs => (session ->> 'lifetime_seconds')::integer);
begin
  if person is null or person is distinct from session ->> 'user_id' or proof ->> 'by' = 'session' then
    return null;
  end if;
  if proof ->> 'by' = 'password' and public.kule_has_second_factor(person) then
    return null;
  end if;
  insert into public.token (
    id, kind, organisation_id, user_id, name, secret_hash, lifetime_seconds, created_by, expires_at,
    opened_by, identity_id, user_agent, source_address, idle_seconds, proven_at
  ) values (
    session ->> 'id', 'session', session ->> 'organisation_id', person, session ->> 'name',
    decode(session ->> 'secret_hash', 'hex'), (session ->> 'lifetime_seconds')::integer, person, ends,
    session ->> 'opened_by', session ->> 'identity_id', session ->> 'user_agent', session ->> 'source_address',
    (session ->> 'idle_seconds')::integer,
    case when (session ->> 'is_proven')::boolean
      then least(clock_timestamp(), to_timestamp((session ->> 'proven_seconds')::float8)) end
  );
  return ends;
end $$;

-- Opens a session in another organisation. Everything else, its end included, is copied from the session of the secret.
create function kule_succeed_session(proof jsonb, id text, secret_hash bytea, organisation_id text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  person text := public.kule_person_shown(proof);
  former public.token;
begin
  if person is null or proof ->> 'by' <> 'session' or not exists (
    select from public.member m
     where m.user_id = person and m.organisation_id = kule_succeed_session.organisation_id
  ) then
    return null;
  end if;
  select t.* into former from public.token t where t.id = proof ->> 'id' and t.revoked_at is null for update;
  if former.id is null then
    return null;
  end if;
  former.id := kule_succeed_session.id;
  former.secret_hash := kule_succeed_session.secret_hash;
  former.organisation_id := kule_succeed_session.organisation_id;
  former.last_used_at := date_trunc('minute', now());
  insert into public.token values (former.*);
  return former.expires_at;
end $$;

-- Null when the proof is not the user's. Only the second factor completes the sign-in that it begins.
create function kule_begin_sign_in(
  proof jsonb, user_id text, id text, secret_hash bytea, lifetime_seconds integer
) returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  person text := public.kule_person_shown(proof);
  ends timestamptz := clock_timestamp() + make_interval(secs => lifetime_seconds);
begin
  if person is distinct from kule_begin_sign_in.user_id or proof ->> 'by' not in ('password', 'identity') then
    return null;
  end if;
  insert into public.sign_in (id, user_id, identity_id, secret_hash, expires_at)
  values (
    kule_begin_sign_in.id, person, case proof ->> 'by' when 'identity' then proof ->> 'id' end,
    kule_begin_sign_in.secret_hash, ends
  );
  return ends;
end $$;

-- Needs the former password, the secret of a reset, or a proven session of a user without a password.
create function kule_set_password(proof jsonb, user_id text, hash text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  person text;
begin
  case proof ->> 'by'
    when 'reset' then
      delete from public.password_reset r
       where r.id = proof ->> 'id' and r.secret_hash = sha256(convert_to(proof ->> 'secret', 'UTF8'))
         and r.expires_at > clock_timestamp()
      returning r.user_id into person;
    -- Compared below, where the row is locked: the second of two simultaneous changes finds another password.
    when 'password' then
      person := proof ->> 'user';
    when 'session' then
      person := public.kule_person_shown(proof);
    else
      return false;
  end case;
  update public.app_user u set password_hash = kule_set_password.hash, password_changed_at = clock_timestamp()
   where u.id = person and u.id = kule_set_password.user_id
     and case proof ->> 'by'
       when 'reset' then true
       when 'password' then
         sha256(convert_to(u.password_hash, 'UTF8')) = sha256(convert_to(proof ->> 'hash', 'UTF8'))
       when 'session' then u.password_hash is null and exists (
         select from public.token t
          where t.id = proof ->> 'id' and t.proven_at > clock_timestamp() - interval '10 minutes')
       else false end;
  return found;
end $$;

-- For the function below and for the worker, which mails the secret. The API's role may not call it.
create function kule_keep_password_reset(user_id text, id text, secret_hash bytea, lifetime_seconds integer)
returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ends timestamptz := clock_timestamp() + make_interval(secs => lifetime_seconds);
begin
  -- This lock orders all changes of how a person signs in.
  perform from public.app_user u where u.id = kule_keep_password_reset.user_id for no key update;
  insert into public.password_reset as r (user_id, id, secret_hash, created_at, expires_at)
  values (
    kule_keep_password_reset.user_id, kule_keep_password_reset.id, kule_keep_password_reset.secret_hash,
    clock_timestamp(), ends
  )
  on conflict on constraint password_reset_pkey do update
    set id = excluded.id, secret_hash = excluded.secret_hash, created_at = excluded.created_at,
        expires_at = excluded.expires_at;
  return ends;
end $$;

-- Only for the session of an operator.
create function kule_begin_password_reset(
  proof jsonb, user_id text, id text, secret_hash bytea, lifetime_seconds integer
) returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if proof ->> 'by' <> 'session' or not exists (
    select from public.app_user u where u.id = public.kule_person_shown(proof) and u.is_operator
  ) then
    return null;
  end if;
  return public.kule_keep_password_reset(user_id, id, secret_hash, lifetime_seconds);
end $$;

-- For a session of the same person. False when it is linked already, or the proof is not the person's.
create function kule_add_passkey(proof jsonb, passkey jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if proof ->> 'by' <> 'session' or public.kule_person_shown(proof) is distinct from passkey ->> 'user_id' then
    return false;
  end if;
  insert into public.passkey (id, user_id, name, credential, public_key, sign_count, transports, is_synced)
  values (
    passkey ->> 'id', passkey ->> 'user_id', passkey ->> 'name', passkey ->> 'credential',
    decode(passkey ->> 'public_key', 'hex'), (passkey ->> 'sign_count')::bigint,
    array(select jsonb_array_elements_text(passkey -> 'transports')), (passkey ->> 'is_synced')::boolean
  )
  on conflict (credential) do nothing;
  return found;
end $$;

-- For a session of the same person, or for an account that this transaction has created.
create function kule_link_identity(proof jsonb, identity jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not (case proof ->> 'by'
    when 'session' then coalesce(public.kule_person_shown(proof) = identity ->> 'user_id', false)
    when 'new' then exists (
      select from public.app_user u
       where u.id = identity ->> 'user_id' and u.created_at = transaction_timestamp() and u.password_hash is null)
    else false end)
  then
    return false;
  end if;
  insert into public.user_identity (id, user_id, issuer, subject, email)
  values (
    identity ->> 'id', identity ->> 'user_id', identity ->> 'issuer', identity ->> 'subject', identity ->> 'email'
  )
  on conflict (issuer, subject) do nothing;
  return found;
end $$;

create function kule_guard_session() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not pg_has_role(current_user, (select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege using message = 'a session is opened by kule_open_session';
  end if;
  return new;
end $$;
create trigger session_token before insert on token for each row
  when (new.kind = 'session') execute function kule_guard_session();

grant execute on function
  kule_password_parameters(text),
  kule_is_password(text, text),
  kule_open_session(jsonb, jsonb),
  kule_succeed_session(jsonb, text, bytea, text),
  kule_begin_sign_in(jsonb, text, text, bytea, integer),
  kule_set_password(jsonb, text, text),
  kule_begin_password_reset(jsonb, text, text, bytea, integer),
  kule_add_passkey(jsonb, jsonb),
  kule_link_identity(jsonb, jsonb)
to kule_api;
`;
