/** The commit checks of reservations and unused addresses; see server-checks.ts. */
export const addressChecks = `
/* What is wrong with an organisation's ($1) reservation ($2); null when nothing is, or when there is none such. */
create function kule_reservation_problem(text, text) returns text
language plpgsql stable security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_problem text;
begin
  select case
    when a.address is null then 'keeps no address'
    when not a.address << u.cidr or a.address in (host(network(u.cidr))::inet, u.gateway_ip, host(broadcast(u.cidr))::inet)
      then 'keeps ' || host(a.address) || ', which is no server''s'
    end
    into v_problem
    from address_reservation r
    join subnet u on u.organisation_id = r.organisation_id and u.id = r.subnet_id
    left join address a on a.organisation_id = r.organisation_id and a.subnet_id = r.subnet_id and a.reservation_id = r.id
   where r.organisation_id = $1 and r.id = $2;
  return v_problem;
end $$;

create function kule_reservation_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_row jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
  v_ids text[] := case
    when tg_table_name = 'address_reservation' then array[v_row ->> 'id']
    when tg_op = 'UPDATE' then array[to_jsonb(old) ->> 'reservation_id', v_row ->> 'reservation_id']
    else array[v_row ->> 'reservation_id'] end;
  v_id text;
  v_problem text;
begin
  foreach v_id in array v_ids loop
    v_problem := kule_reservation_problem(v_row ->> 'organisation_id', v_id);
    if v_problem is not null then
      perform kule_refuse_commit('reservation_kept', 'reservation ' || v_id || ' ' || v_problem);
    end if;
  end loop;
  return null;
end $$;
create constraint trigger reservation_kept after insert or update on address_reservation deferrable initially deferred
  for each row execute function kule_reservation_at_commit();
create constraint trigger reservation_kept_insert after insert on address deferrable initially deferred
  for each row when (new.reservation_id is not null) execute function kule_reservation_at_commit();
create constraint trigger reservation_kept_update after update on address deferrable initially deferred
  for each row when ((old.reservation_id, old.subnet_id, old.address) is distinct from (new.reservation_id, new.subnet_id, new.address)
                     and (old.reservation_id is not null or new.reservation_id is not null))
  execute function kule_reservation_at_commit();
create constraint trigger reservation_kept_delete after delete on address deferrable initially deferred
  for each row when (old.reservation_id is not null) execute function kule_reservation_at_commit();

/* An address that nobody can be given is the platform's, or somebody's reservation: another one is lost for good. */
create function kule_held_address_at_commit() returns trigger
language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  perform 1 from address a
    join subnet u on u.organisation_id = a.organisation_id and u.id = a.subnet_id
   where a.organisation_id = new.organisation_id and a.subnet_id = new.subnet_id and a.address = new.address
     and a.state = 'reserved' and a.reservation_id is null and a.load_balancer_id is null
     and a.address not in (host(network(u.cidr))::inet, u.gateway_ip, host(broadcast(u.cidr))::inet);
  if found then
    perform kule_refuse_commit('address_held', 'address ' || host(new.address) || ' is kept for nobody');
  end if;
  return null;
end $$;
create constraint trigger address_held_insert after insert on address deferrable initially deferred
  for each row when (new.state = 'reserved' and new.reservation_id is null) execute function kule_held_address_at_commit();
create constraint trigger address_held_update after update on address deferrable initially deferred
  for each row when (new.state = 'reserved' and new.reservation_id is null and old is distinct from new)
  execute function kule_held_address_at_commit();
`;
