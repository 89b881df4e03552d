import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Private addresses, and those that an organisation reserves in its subnets.
 *
 * A reservation is a row of its own; its address is the row of `address` that refers to it, in any state: `reserved`
 * while no server uses it, `used` by a server that was created with it, `quarantined` when that server is deleted. So
 * the primary key of `address` keeps servers and reservations alike from sharing an address.
 */
export const addresses = `
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
  -- A subnet with a reserved address cannot be deleted.
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region)
);
create index address_reservation_list on address_reservation (organisation_id, subnet_id, created_at desc, id desc);
grant select, insert, update, delete on address_reservation to kule_api;
${isolateTenants("address_reservation")}

create table address (
  subnet_id text not null,
  address inet not null,
  organisation_id text not null,
  state text not null check (state in ('reserved', 'used', 'quarantined')),
  nic_id text unique,
  free_after timestamptz,
  reservation_id text,
  -- The load balancer whose two servers share it.
  load_balancer_id text,
  -- Since when it has its state.
  since timestamptz not null default clock_timestamp(),
  primary key (subnet_id, address),
  foreign key (organisation_id, subnet_id) references subnet (organisation_id, id) on delete cascade,
  foreign key (organisation_id, nic_id) references nic (organisation_id, id),
  check ((state = 'used') = (nic_id is not null)),
  check ((state = 'quarantined') = (free_after is not null)),
  constraint address_reservation_once unique (reservation_id),
  constraint address_load_balancer_once unique (load_balancer_id),
  check (load_balancer_id is null or state = 'reserved' and reservation_id is null),
  constraint address_reservation_key foreign key (organisation_id, reservation_id, subnet_id)
    references address_reservation (organisation_id, id, subnet_id)
);
create index address_quarantined on address (free_after) where state = 'quarantined';
-- Finds the lowest address of a subnet that can be allocated again.
create index address_rested on address (subnet_id, address) where state = 'quarantined' and reservation_id is null;
-- The lists of a subnet's addresses by any state but \`used\`.
create index address_not_used on address (subnet_id, address) where state <> 'used';
grant select, insert, update, delete on address to kule_api;
${isolateTenants("address")}

-- The first address from p_from on that has no row. The subnet's broadcast address has one, so after it comes an
-- address outside of the subnet.
create function kule_address_gap(p_organisation_id text, p_subnet_id text, p_from inet) returns inet
language plpgsql stable set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_gap inet;
begin
  perform 1 from address a
    where a.organisation_id = p_organisation_id and a.subnet_id = p_subnet_id and a.address = p_from;
  if not found then
    return p_from;
  end if;
  select a.address + 1 into v_gap from address a
   where a.organisation_id = p_organisation_id and a.subnet_id = p_subnet_id and a.address >= p_from
     and not exists (select 1 from address b where b.organisation_id = p_organisation_id
                        and b.subnet_id = p_subnet_id and b.address = a.address + 1)
   order by a.address limit 1;
  return v_gap;
end $$;

/*
 * Gives an interface or a reservation the lowest free address of its subnet: a quarantined one whose quarantine is over
 * and that no port is forwarded to, or one that never had a row. Null when there is none, or when the subnet is going.
 *
 * Creates of one subnet do not wait for each other: an address that another transaction is about to commit is passed
 * over, by its row's lock or by an advisory lock on it, and the primary key decides in any case. Only when nothing else
 * is left does this wait for the end of those transactions: one of them may be rolled back.
 */
create function kule_take_address(
  p_organisation_id text, p_subnet_id text, p_nic_id text, p_reservation_id text
) returns inet
language plpgsql set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_cidr cidr;
  v_hint inet;
  v_rested inet;
  v_address inet;
  v_passed_over inet[] := '{}';
  v_state text := case when p_nic_id is null then 'reserved' else 'used' end;
begin
  select u.cidr, u.lowest_free_hint into v_cidr, v_hint from subnet u
   where u.organisation_id = p_organisation_id and u.id = p_subnet_id and u.status <> 'deleting';
  if not found then
    return null;
  end if;
  select a.address into v_rested from address a
   where a.organisation_id = p_organisation_id and a.subnet_id = p_subnet_id and a.state = 'quarantined'
     and a.free_after <= clock_timestamp() and a.reservation_id is null
     and not exists (select 1 from port_forward f where f.organisation_id = p_organisation_id
                        and f.subnet_id = a.subnet_id and f.target_address = a.address)
   order by a.address limit 1
   for update of a skip locked;
  v_address := kule_address_gap(p_organisation_id, p_subnet_id, v_hint);
  loop
    if v_rested is not null and (v_rested < v_address or not v_address << v_cidr) then
      update address
         set state = v_state, nic_id = p_nic_id, reservation_id = p_reservation_id, free_after = null,
             since = clock_timestamp()
       where organisation_id = p_organisation_id and subnet_id = p_subnet_id and address = v_rested;
      return v_rested;
    end if;
    exit when not v_address << v_cidr;
    if pg_try_advisory_xact_lock(hashtextextended(p_subnet_id || host(v_address), 0)) then
      insert into address (subnet_id, organisation_id, address, state, nic_id, reservation_id)
      values (p_subnet_id, p_organisation_id, v_address, v_state, p_nic_id, p_reservation_id)
      on conflict (subnet_id, address) do nothing;
      if found then
        perform kule_raise_address_hint(p_organisation_id, p_subnet_id);
        return v_address;
      end if;
    else
      v_passed_over := v_passed_over || v_address;
    end if;
    v_address := kule_address_gap(p_organisation_id, p_subnet_id, v_address + 1);
  end loop;
  -- Without the advisory lock, which another waiting one may hold for an address that it did not get. Whoever waits here
  -- has given nobody a reason to wait for it, so there is no circle.
  for v_address in
    select a.address from address a
     where a.organisation_id = p_organisation_id and a.subnet_id = p_subnet_id and a.state = 'quarantined'
       and a.free_after <= clock_timestamp() and a.reservation_id is null
       and not exists (select 1 from port_forward f where f.organisation_id = p_organisation_id
                          and f.subnet_id = a.subnet_id and f.target_address = a.address)
     order by a.address
  loop
    update address
       set state = v_state, nic_id = p_nic_id, reservation_id = p_reservation_id, free_after = null,
           since = clock_timestamp()
     where organisation_id = p_organisation_id and subnet_id = p_subnet_id and address = v_address
       and state = 'quarantined' and reservation_id is null;
    if found then
      return v_address;
    end if;
  end loop;
  foreach v_address in array v_passed_over loop
    insert into address (subnet_id, organisation_id, address, state, nic_id, reservation_id)
    values (p_subnet_id, p_organisation_id, v_address, v_state, p_nic_id, p_reservation_id)
    on conflict (subnet_id, address) do nothing;
    if found then
      return v_address;
    end if;
  end loop;
  return null;
end $$;

-- Raises the subnet's hint to the first address without a row, unless another transaction is raising it: the next one
-- will. An address that is not committed yet has no row here, so the hint never passes one that may be given back.
create function kule_raise_address_hint(p_organisation_id text, p_subnet_id text) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_hint inet;
begin
  select lowest_free_hint into v_hint from subnet
   where organisation_id = p_organisation_id and id = p_subnet_id
   for no key update skip locked;
  if found then
    update subnet set lowest_free_hint = kule_address_gap(p_organisation_id, p_subnet_id, v_hint)
     where organisation_id = p_organisation_id and id = p_subnet_id;
  end if;
end $$;
grant execute on function kule_address_gap(text, text, inet), kule_take_address(text, text, text, text),
  kule_raise_address_hint(text, text) to kule_api;
`;
