/** How many addresses of each pool are in which state, kept by triggers of the addresses. */
export const ipPoolCounts = `
-- The sum of a pool's rows is what it has, as with quota_count: a change only inserts a row, so that reserving an address
-- does not wait for other changes of its pool.
create table public_address_count (
  pool_id text not null,
  state text not null,
  is_allocated boolean not null,
  amount integer not null
);
create index public_address_count_pool on public_address_count (pool_id);
-- The addresses that are not free yet although their quarantine will end: by time, which no trigger notices.
create index public_address_quarantined on public_address (pool_id, free_after) where state = 'quarantined';
grant select on public_address_count to kule_api;

create function kule_count_public_addresses() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into public_address_count (pool_id, state, is_allocated, amount)
      select pool_id, state, allocated_to is not null, count(*) from after group by 1, 2, 3;
  elsif tg_op = 'DELETE' then
    insert into public_address_count (pool_id, state, is_allocated, amount)
      select pool_id, state, allocated_to is not null, -count(*) from before group by 1, 2, 3;
  else
    -- What leaves every count as it was writes nothing.
    insert into public_address_count (pool_id, state, is_allocated, amount)
      select pool_id, state, allocated_to is not null, sum(change)
        from (select *, -1 as change from before union all select *, 1 from after) changed
       group by 1, 2, 3 having sum(change) <> 0;
  end if;
  return null;
end $$;
create trigger public_address_counted_insert after insert on public_address
  referencing new table as after for each statement execute function kule_count_public_addresses();
create trigger public_address_counted_update after update on public_address
  referencing old table as before new table as after for each statement execute function kule_count_public_addresses();
create trigger public_address_counted_delete after delete on public_address
  referencing old table as before for each statement execute function kule_count_public_addresses();

/* Replaces a pool's rows by their sums. Two that fold at once, or fold and recount, wait for each other. */
create function kule_fold_public_address_counts(p_pool_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from ip_pool where id = p_pool_id for no key update;
  with folded as (delete from public_address_count where pool_id = p_pool_id returning *)
  insert into public_address_count (pool_id, state, is_allocated, amount)
    select pool_id, state, is_allocated, sum(amount) from folded group by 1, 2, 3 having sum(amount) <> 0;
end $$;
grant execute on function kule_fold_public_address_counts(text) to kule_api;

/* Every pool's counts, counted from its addresses: what the rows of public_address_count must add up to. */
create view public_address_due with (security_invoker = true) as
  select pool_id, state, allocated_to is not null as is_allocated, count(*)::integer as amount
    from public_address group by 1, 2, 3;

/* Counts a pool again from its addresses; for counts that were found wrong. */
create function kule_recount_public_addresses(p_pool_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from ip_pool where id = p_pool_id for no key update;
  -- One statement, so one snapshot: a change that is not committed yet adds its own rows when it is.
  with gone as (delete from public_address_count where pool_id = p_pool_id)
  insert into public_address_count select * from public_address_due where pool_id = p_pool_id;
end $$;
`;
