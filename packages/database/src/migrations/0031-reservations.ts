import { isolateTenants } from "./tenant-isolation.ts";

/**
 * Addresses that an organisation keeps in its subnets, and since when an address is what it is; gateways with an address
 * that was there before, and how many an organisation may have.
 *
 * A reservation is a row of its own; its address is the row of `address` that names it, whatever its state: `reserved`
 * while nobody has it, `used` by a server that was made with it, `quarantined` when that server is gone. So the primary
 * key of `address` is the judge over servers and reservations alike.
 */
export const reservations = `
create table address_reservation (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null,
  subnet_id text not null,
  name text not null,
  description text not null default '',
  labels jsonb not null default '{}',
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  unique (organisation_id, id, subnet_id),
  constraint reservation_name unique (subnet_id, name),
  -- A subnet that somebody keeps an address of does not go.
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region)
);
create index address_reservation_list on address_reservation (organisation_id, subnet_id, created_at desc, id desc);

alter table address
  add column reservation_id text,
  add column since timestamptz not null default now(),
  add constraint address_reservation_once unique (reservation_id),
  add constraint address_reservation_key foreign key (organisation_id, reservation_id, subnet_id)
    references address_reservation (organisation_id, id, subnet_id);
alter table address alter column since set default clock_timestamp();
-- A server has had its address as long as it is there. Of those at rest nobody knows: since now, at the latest.
update address a set since = s.created_at from nic n join server s on s.id = n.server_id where a.nic_id = n.id;
update address a set since = u.created_at from subnet u where a.subnet_id = u.id and a.state = 'reserved';

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
     and a.state = 'reserved' and a.reservation_id is null
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

grant select, insert, update, delete on address_reservation to kule_api;
revoke execute on all functions in schema public from public;
${isolateTenants("address_reservation")}

-- The address that a gateway was made with was the organisation's before, and stays when the gateway goes.
alter table gateway add column keeps_address boolean not null default false;

-- Most gateways that an organisation may have; null is no limit.
alter table organisation add column gateway_limit integer check (gateway_limit >= 0);
`;
