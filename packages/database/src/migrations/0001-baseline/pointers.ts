/**
 * The reverse names (PTR records) of public addresses, as they are to be served: the installation's, as the addresses are.
 * A row stays after its address was released, until the name servers have the old name no more.
 */
export const pointers = `
create table public_pointer (
  address inet primary key,
  -- Without the final dot; null: the address has no reverse name any more.
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
grant select, update, delete on public_pointer to kule_api;

/* Whatever gives an address a reverse name, or takes it away, is brought to the name servers by the worker. */
create function kule_note_pointer() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_address inet := case when tg_op = 'DELETE' then old.address else new.address end;
  v_wanted text := case when tg_op = 'DELETE' then null else new.ptr end;
begin
  insert into public_pointer (address, wanted) values (v_address, v_wanted)
    on conflict (address) do update
      set wanted = excluded.wanted, generation = public_pointer.generation + 1, state = 'pending',
          updated_at = clock_timestamp();
  perform graphile_worker.add_job('serve_pointers', '{}', job_key => 'serve_pointers');
  return null;
end $$;
create trigger public_ip_pointer_insert after insert on public_ip for each row
  when (new.ptr is not null) execute function kule_note_pointer();
create trigger public_ip_pointer_update after update of ptr on public_ip for each row
  when (old.ptr is distinct from new.ptr) execute function kule_note_pointer();
create trigger public_ip_pointer_delete after delete on public_ip for each row
  when (old.ptr is not null) execute function kule_note_pointer();
`;
