/**
 * The reverse names (PTR records) of public addresses, as they are to be served: the installation's, as the addresses are.
 * A row stays after its address was released, until the name servers have the old name no more.
 */
export const pointers = `
create table public_pointer (
  address inet primary key,
  -- Without the final dot; null: the address has no reverse name any more. Else the name that is served, be it the public
  -- IP's own or the one by the pattern of its pool.
  wanted text,
  -- Counts the changes; the last one that the name servers have.
  generation integer not null default 1,
  served_generation integer not null default 0,
  -- unmanaged: the reverse zone of the address is not one of this installation's.
  state text not null default 'pending' check (state in ('pending', 'served', 'unmanaged')),
  updated_at timestamptz not null default clock_timestamp(),
  check (served_generation <= generation)
);
create index public_pointer_due on public_pointer (updated_at) where state = 'pending';
create index public_pointer_unmanaged on public_pointer (updated_at) where state = 'unmanaged';
grant select, insert, update, delete on public_pointer to kule_api;

/*
 * The name by the pattern: the star is the address, 203-0-113-7, or all eight groups of an IPv6 address, so that each
 * address has one name. The same as reverseNameOf of packages/rules. Null without a pattern.
 */
create function kule_reverse_name(p_pattern text, p_address inet) returns text
language sql immutable strict parallel safe as $$
  select case family(p_address)
           when 4 then translate(host(p_address), '.', '-')
           else (select string_agg(to_hex(get_byte(octets, 2 * n) * 256 + get_byte(octets, 2 * n + 1)), '-' order by n)
                   from substring(inet_send(p_address) from 5) octets, generate_series(0, 7) n)
         end || substring(p_pattern from 2)
$$;

/*
 * Changes of public IPs hold this lock of their pool together, and a change of its pattern holds it alone: each sees the
 * other or comes after it. No row is locked for that: public IPs of a pool would wait for each other's allocations.
 */
create function kule_pointer_lock(p_pool_id text) returns bigint
language sql immutable strict parallel safe as $$
  select hashtextextended('reverse names of ' || p_pool_id, 0)
$$;

/*
 * Whatever gives an address a reverse name, or takes it away, is brought to the name servers by the worker: the public
 * IP's own name, else the one by the pattern of its pool. Foreign keys are checked before (their triggers come first by
 * name), so whoever waits for the pool's row holds no lock of its names.
 */
create function kule_note_pointer() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_address inet := case when tg_op = 'DELETE' then old.address else new.address end;
  v_pool_id text := case when tg_op = 'DELETE' then old.pool_id else new.pool_id end;
  v_wanted text;
begin
  perform pg_advisory_xact_lock_shared(kule_pointer_lock(v_pool_id));
  if tg_op <> 'DELETE' then
    v_wanted := coalesce(new.ptr, (select kule_reverse_name(reverse_name, v_address) from ip_pool where id = v_pool_id));
  end if;
  if v_wanted is null then
    update public_pointer
       set wanted = null, generation = generation + 1, state = 'pending', updated_at = clock_timestamp()
     where address = v_address and wanted is not null;
  else
    insert into public_pointer (address, wanted) values (v_address, v_wanted)
      on conflict (address) do update
        set wanted = excluded.wanted, generation = public_pointer.generation + 1, state = 'pending',
            updated_at = clock_timestamp()
        where public_pointer.wanted is distinct from excluded.wanted;
  end if;
  return null;
end $$;
create trigger public_ip_pointer_insert after insert on public_ip for each row execute function kule_note_pointer();
create trigger public_ip_pointer_update after update of ptr on public_ip for each row
  when (old.ptr is distinct from new.ptr) execute function kule_note_pointer();
create trigger public_ip_pointer_delete after delete on public_ip for each row execute function kule_note_pointer();

/*
 * At COMMIT: all tasks have one key, whose row is locked until the end of the transaction, and nobody who reserves an
 * address should wait for another's whole transaction. Once in a transaction, however many addresses it changes.
 */
create function kule_wake_for_pointer() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if current_setting('kule.wakes_for_pointers', true) = 'on' then return null; end if;
  perform from public_pointer
    where address = case when tg_op = 'DELETE' then old.address else new.address end and state = 'pending';
  if found then
    perform set_config('kule.wakes_for_pointers', 'on', true);
    perform graphile_worker.add_job('serve_pointers', '{}', job_key => 'serve_pointers');
  end if;
  return null;
end $$;
create constraint trigger public_ip_pointer_wake_change after insert or delete on public_ip
  deferrable initially deferred for each row execute function kule_wake_for_pointer();
create constraint trigger public_ip_pointer_wake_update after update of ptr on public_ip
  deferrable initially deferred for each row
  when (old.ptr is distinct from new.ptr) execute function kule_wake_for_pointer();

/* A new pattern is the name of all public IPs of the pool that have none of their own, in one statement. */
create function kule_note_pool_pointers() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(kule_pointer_lock(new.id));
  -- In the order in which the worker locks them.
  insert into public_pointer (address, wanted)
    select i.address, kule_reverse_name(new.reverse_name, i.address)
      from public_address a join public_ip i on i.address = a.address
     where a.pool_id = new.id and a.state = 'used' and i.ptr is null
     order by i.address
    on conflict (address) do update
      set wanted = excluded.wanted, generation = public_pointer.generation + 1, state = 'pending',
          updated_at = clock_timestamp();
  perform graphile_worker.add_job('serve_pointers', '{}', job_key => 'serve_pointers');
  return null;
end $$;
create trigger ip_pool_pointers after update of reverse_name on ip_pool for each row
  when (old.reverse_name is distinct from new.reverse_name) execute function kule_note_pool_pointers();
`;
