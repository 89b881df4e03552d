/**
 * The partitions of the tables that only grow: the steps of jobs and the audit trail, a table for each month (UTC). They are in a
 * schema of their own, in which no role has a right: rows are read and written through the tables, whose rights and row-level
 * security then apply.
 *
 * Before the first month is `…_earlier` and after the last one `…_later`, so that every row has its place. They are no default
 * partition: with one, Postgres would read the newest entry of every month for each list of the trail. See
 * docs/adr/0035-history-by-month.md and docs/runbooks/retention.md.
 */
export const history = `
create schema kule_history;

-- The least identifier of a time: its first ten characters are the milliseconds since 1970 (apps/api/src/platform/ids.ts).
create function kule_first_id(p_prefix text, p_at timestamptz) returns text
language sql immutable set search_path = public, pg_temp as $$
  select p_prefix || '_' || string_agg(
           substr('0123456789abcdefghjkmnpqrstvwxyz', (ms >> (45 - 5 * i) & 31)::integer + 1, 1), '' order by i)
    from generate_series(0, 9) i, (select floor(extract(epoch from p_at) * 1000)::bigint as ms) of
$$;

-- The month's first moment as the partitions of a table are bounded by it.
create function kule_history_bound(p_table text, p_month date) returns text
language sql stable set search_path = public, pg_temp as $$
  select case p_table
           when 'audit' then to_char(p_month, 'YYYY-MM-DD') || ' 00:00:00+00'
           when 'job_step' then kule_first_id('job', p_month::timestamp at time zone 'UTC')
         end
$$;

create function kule_history_months(p_table text) returns setof date
language sql stable set search_path = public, pg_temp as $$
  select to_date(right(c.relname, 7), 'YYYY_MM') as month
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = p_table::regclass and c.relname ~ '_\\d{4}_\\d{2}$'
   order by 1
$$;

-- Keeps readers and writers out until the end of the transaction. New partitions of steps refer to jobs, which are locked first, as
-- in every transaction.
create function kule_history_lock(p_table text) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
  if p_table = 'job_step' then
    lock table job in share row exclusive mode;
  end if;
  execute format('lock table %I in access exclusive mode', p_table);
end $$;

create function kule_history_add(p_table text, p_part text, p_from text, p_to text) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
  execute format('create table kule_history.%I partition of %I for values from (%s) to (%s)', p_table || '_' || p_part,
                 p_table, coalesce(quote_literal(p_from), 'minvalue'), coalesce(quote_literal(p_to), 'maxvalue'));
end $$;

-- Adds the months that are missing, up to so many after the present one, and returns them. Rows that came later than the last month
-- are moved into theirs; where they are more than p_most_rows, nothing is changed, since everybody would wait for it.
-- A lock that is not granted at once is an error: whoever waits for a lock keeps everybody out who comes after.
create function kule_extend_history(p_table text, p_ahead integer, p_most_rows integer) returns setof date
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  v_present constant date := date_trunc('month', now() at time zone 'UTC');
  v_last constant date := v_present + make_interval(months => p_ahead);
  v_later constant text := p_table || '_later';
  v_first date;
  v_rows integer := 0;
begin
  if p_table not in ('job_step', 'audit') or p_ahead not between 0 and 24 then
    raise exception 'no months of % can be added until %', p_table, v_last;
  end if;
  if exists (select from kule_history_months(p_table) month where month >= v_last) then
    return;
  end if;
  perform kule_history_lock(p_table);
  select (max(month) + interval '1 month')::date into v_first from kule_history_months(p_table) month;
  if v_first is null then
    v_first := v_present;
    perform kule_history_add(p_table, 'earlier', null, kule_history_bound(p_table, v_first));
  else
    execute format('select count(*) from (select from kule_history.%I limit %s) rows', v_later, p_most_rows + 1)
      into v_rows;
    if v_rows > p_most_rows then
      raise exception 'more than % rows of % are later than its last month', p_most_rows, p_table;
    end if;
    if v_rows > 0 then
      execute format('create table kule_history.moved as table kule_history.%I', v_later);
    end if;
    execute format('drop table kule_history.%I', v_later);
  end if;
  while v_first <= v_last loop
    perform kule_history_add(p_table, to_char(v_first, 'YYYY_MM'), kule_history_bound(p_table, v_first),
                             kule_history_bound(p_table, (v_first + interval '1 month')::date));
    return next v_first;
    v_first := v_first + interval '1 month';
  end loop;
  perform kule_history_add(p_table, 'later', kule_history_bound(p_table, v_first), null);
  if v_rows > 0 then
    execute format('insert into %I select * from kule_history.moved', p_table);
    drop table kule_history.moved;
  end if;
end $$;

-- Drops the months before p_before, and what is earlier than all months. The caller has the locks.
create function kule_history_drop(p_table text, p_before date) returns setof date
language plpgsql set search_path = public, pg_temp as $$
declare
  v_month date;
begin
  execute format('drop table kule_history.%I', p_table || '_earlier');
  for v_month in select month from kule_history_months(p_table) month where month < p_before loop
    execute format('drop table kule_history.%I', p_table || '_' || to_char(v_month, 'YYYY_MM'));
    return next v_month;
  end loop;
  perform kule_history_add(p_table, 'earlier', null, kule_history_bound(p_table, p_before));
end $$;

-- Removes the steps of jobs that ended more than so many days ago, by whole months of their creation, and returns the months. The
-- steps of other jobs of these months, open ones among them, are moved to those that are earlier than all months.
create function kule_remove_job_steps(p_keep_days integer) returns setof date
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  v_cutoff constant timestamptz := now() - make_interval(days => p_keep_days);
  v_before constant date := date_trunc('month', v_cutoff at time zone 'UTC');
  v_bound constant text := kule_history_bound('job_step', v_before);
  v_kept text[];
  v_rows integer := 0;
begin
  if p_keep_days is null or p_keep_days < 30 then
    raise exception 'steps of jobs are kept for at least 30 days';
  end if;
  if not exists (select from kule_history_months('job_step') month where month < v_before) then
    delete from kule_history.job_step_earlier st
     where not exists (select from job j where j.id = st.job_id
                         and (j.status in ('queued', 'running') or j.finished_at >= v_cutoff));
    return;
  end if;
  -- Reads all jobs, so before the locks.
  select array_agg(id) into v_kept from job
   where id collate "C" < v_bound and (status in ('queued', 'running') or finished_at >= v_cutoff);
  perform kule_history_lock('job_step');
  -- And those that were retried meanwhile.
  v_kept := array_cat(v_kept, (select array_agg(id) from job
                                where id collate "C" < v_bound and status in ('queued', 'running')));
  if v_kept is not null then
    create table kule_history.moved as
      select * from job_step where job_id < v_bound and job_id = any (v_kept);
    get diagnostics v_rows = row_count;
  end if;
  return query select * from kule_history_drop('job_step', v_before);
  if v_kept is not null then
    insert into job_step select * from kule_history.moved;
    drop table kule_history.moved;
  end if;
end $$;

-- Removes the entries before the first day of a month, and writes an entry about it. The seals are the caller's: an entry that is
-- missing without a cut that the worker's key has signed is found (apps/api/src/worker/audit-seals).
create function kule_remove_audit(p_before date, p_entry_id text, p_details jsonb) returns setof date
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
begin
  if p_before is null or p_before <> date_trunc('month', p_before)
     or p_before > (now() - interval '90 days') at time zone 'UTC' then
    raise exception 'the audit trail is removed by whole months, and kept for at least 90 days';
  end if;
  if not exists (select from kule_history_months('audit') month where month < p_before) then
    return;
  end if;
  perform kule_history_lock('audit');
  return query select * from kule_history_drop('audit', p_before);
  insert into audit (id, actor_type, actor_name, action, outcome, http_status, request_id, details)
  values (p_entry_id, 'system', 'retention', 'audit.remove', 'succeeded', 200, p_entry_id, p_details);
end $$;

select kule_extend_history('job_step', 3, 0), kule_extend_history('audit', 3, 0);
`;
