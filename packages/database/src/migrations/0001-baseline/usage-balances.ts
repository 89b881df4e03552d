import { isolateTenants } from "../tenant-isolation.ts";

/** What two rows of one combination have in common. */
const combination = ["organisation_id", "label_key", "label_value", "region", "kind", "package"] as const;
/** What is added up in it. */
const sums = ["begun", "ended", "began_at", "first", "first_began_at", "second", "second_began_at"] as const;

const sameCombination = (one: string, other: string) =>
  combination.map((column) => `${one}.${column} = ${other}.${column}`).join(" and ");

/** Of kule_usage_balance_late. */
const ofTheChange = `b.organisation_id = p_segment.organisation_id and b.label_key = v_change.label_key
             and b.label_value = v_change.label_value and b.region = p_segment.region and b.kind = p_segment.kind
             and b.package = v_change.package`;

/** A change as it counts in each sum; `seconds` are those of its time since 1970. */
const sumsOfChanges = `
           sum(c.begun) as begun, sum(c.ended) as ended, sum(c.sign * c.seconds) as began_at,
           sum(c.sign * c.first) as first, sum(c.sign * c.first * c.seconds) as first_began_at,
           sum(c.sign * c.second) as second, sum(c.sign * c.second * c.seconds) as second_began_at`;

/** The rows that a segment counts in. Written out, since a function would be called for each segment. */
const countedIn = (segment: string) => `(
        select '' as label_key, '' as label_value, coalesce(${segment}.package, '') as package
        union all select key, '', '' from jsonb_object_keys(${segment}.labels) key
        union all select key, '=' || value, '' from jsonb_each_text(${segment}.labels))`;

/** Summaries of usage are computed from these sums, and not from all segments. See docs/adr/0048. */
export const usageBalances = `
-- The sums of all segments of a combination of region, kind and package that had begun or ended before the end of a day (UTC).
-- From them follows what was used up to any later moment t of which the changes since are known: a measure is \`first\`
-- times t minus \`first_began_at\`. Segments with labels count once more for each: under its key, and under its key and value.
create table usage_balance (
  organisation_id text not null references organisation (id),
  -- Empty: of all segments, whatever their labels.
  label_key text not null,
  -- Empty: of any value. Otherwise '=' and the value.
  label_value text not null,
  region text not null,
  kind text not null,
  -- Empty for those without a package, and in the rows of labels.
  package text not null,
  day date not null,
  -- The combination has no later day.
  is_last boolean not null,
  -- How many segments.
  begun bigint not null,
  ended bigint not null,
  -- Of open segments, the seconds since 1970 at which they began; those of closed ones are minus their length.
  began_at numeric not null,
  -- vCPUs of compute, gigabytes of disks; and the same times those seconds.
  first numeric not null,
  first_began_at numeric not null,
  -- Megabytes of memory of compute.
  second numeric not null,
  second_began_at numeric not null,
  primary key (${combination.join(", ")}, day)
);
create index usage_balance_last on usage_balance (organisation_id, label_key, label_value) where is_last;
grant select on usage_balance to kule_api;
${isolateTenants("usage_balance")}

-- Each beginning and each end of a segment. A condition on \`at\` is one on the indexes of usage_segment by time.
create view usage_change with (security_invoker = true) as
  select organisation_id, region, kind, package, labels, started_at as at, extract(epoch from started_at) as seconds,
         1 as begun, 0 as ended, 1 as sign,
         coalesce((quantity ->> case kind when 'compute' then 'vcpu' else 'disk_gb' end)::numeric, 0) as first,
         coalesce((quantity ->> 'memory_mb')::numeric, 0) as second
    from usage_segment
  union all
  select organisation_id, region, kind, package, labels, ended_at, extract(epoch from ended_at), 0, 1, -1,
         coalesce((quantity ->> case kind when 'compute' then 'vcpu' else 'disk_gb' end)::numeric, 0),
         coalesce((quantity ->> 'memory_mb')::numeric, 0)
    from usage_segment where ended_at is not null;
grant select on usage_change to kule_api;

/* What the rows of usage_balance must be: computed from all segments. */
create view usage_balance_due with (security_invoker = true) as
  with change as (
    select c.organisation_id, r.label_key, r.label_value, c.region, c.kind, r.package,
           (c.at at time zone 'UTC')::date as day,${sumsOfChanges}
      from usage_change c
      join organisation o on o.id = c.organisation_id and c.at < o.usage_balanced_until
     cross join lateral ${countedIn("c")} r
     group by 1, 2, 3, 4, 5, 6, 7)
  select ${combination.join(", ")}, day, lead(day) over turns is null as is_last,
         ${sums.map((sum) => `sum(${sum}) over turns as ${sum}`).join(", ")}
    from change window turns as (partition by ${combination.join(", ")} order by day);

-- Adds what began or ended before a time that is over for an hour at least, and not before: no transaction lasts as long, so no
-- segment begins or ends before it any more. Usage is recorded under the organisation's lock, which this takes too.
create function kule_balance_usage(p_organisation_id text, p_until timestamptz default 'infinity') returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_until constant timestamptz := least(p_until, date_trunc('hour', clock_timestamp() - interval '1 hour'));
  v_since timestamptz;
begin
  select coalesce(usage_balanced_until, '-infinity') into v_since from organisation where id = p_organisation_id;
  if not exists (select from usage_change c
                  where c.organisation_id = p_organisation_id and c.at >= v_since and c.at < v_until) then
    return;
  end if;
  select coalesce(usage_balanced_until, '-infinity') into v_since from organisation
   where id = p_organisation_id for no key update;
  if v_since is null or v_since >= v_until then
    return;
  end if;
  insert into usage_balance as b (${combination.join(", ")}, day, is_last, ${sums.join(", ")})
    with change as (
      select c.organisation_id, r.label_key, r.label_value, c.region, c.kind, r.package,
             (c.at at time zone 'UTC')::date as day,${sumsOfChanges}
        from usage_change c cross join lateral ${countedIn("c")} r
       where c.organisation_id = p_organisation_id and c.at >= v_since and c.at < v_until
       group by 1, 2, 3, 4, 5, 6, 7)
    select ${combination.map((column) => `c.${column}`).join(", ")}, c.day, lead(c.day) over turns is null,
           ${sums.map((sum) => `coalesce(last.${sum}, 0) + sum(c.${sum}) over turns`).join(", ")}
      from change c
      left join usage_balance last on last.organisation_id = p_organisation_id and last.is_last and ${sameCombination("last", "c")}
    window turns as (partition by ${combination.map((column) => `c.${column}`).join(", ")} order by c.day)
    on conflict (${combination.join(", ")}, day) do update set ${sums.map((sum) => `${sum} = excluded.${sum}`).join(", ")};
  update usage_balance b set is_last = false
   where b.organisation_id = p_organisation_id and b.is_last
     and exists (select from usage_balance later
                  where later.organisation_id = p_organisation_id and ${sameCombination("later", "b")} and later.day > b.day);
  update organisation set usage_balanced_until = v_until where id = p_organisation_id;
end $$;
grant execute on function kule_balance_usage(text, timestamptz) to kule_api;

/* Computes an organisation's balances again from its segments; for balances that were found wrong. */
create function kule_rebalance_usage(p_organisation_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from organisation where id = p_organisation_id for no key update;
  delete from usage_balance where organisation_id = p_organisation_id;
  update organisation set usage_balanced_until = null where id = p_organisation_id;
  perform kule_balance_usage(p_organisation_id);
end $$;

-- Adds a segment to the balances, or takes it out of them: as far as it began and ended before the time up to which they are.
create function kule_usage_balance_late(p_segment usage_segment, p_until timestamptz, p_factor integer) returns void
language plpgsql set search_path = public, pg_temp as $$
declare
  v_change record;
begin
  for v_change in
    select c.at, (c.at at time zone 'UTC')::date as day, r.label_key, r.label_value, r.package,
           p_factor * c.begun as begun, p_factor * c.ended as ended, extract(epoch from c.at) as seconds,
           p_factor * (c.begun - c.ended) as sign,
           coalesce((p_segment.quantity ->> case p_segment.kind when 'compute' then 'vcpu' else 'disk_gb' end)::numeric, 0) as first,
           coalesce((p_segment.quantity ->> 'memory_mb')::numeric, 0) as second
      from (values (p_segment.started_at, 1, 0), (p_segment.ended_at, 0, 1)) c (at, begun, ended)
     cross join lateral ${countedIn("p_segment")} r
     where c.at < p_until
  loop
    -- The day has a row from now on: the sums of the last one before it.
    insert into usage_balance (${combination.join(", ")}, day, is_last, ${sums.join(", ")})
      select p_segment.organisation_id, v_change.label_key, v_change.label_value, p_segment.region, p_segment.kind,
             v_change.package, v_change.day, coalesce(before.is_last, true),
             ${sums.map((sum) => `coalesce(before.${sum}, 0)`).join(", ")}
        from (select) one
        left join lateral (
          select * from usage_balance b
           where ${ofTheChange} and b.day <= v_change.day
           order by b.day desc limit 1) before on true
    on conflict (${combination.join(", ")}, day) do nothing;
    update usage_balance b
       set begun = b.begun + v_change.begun, ended = b.ended + v_change.ended,
           began_at = b.began_at + v_change.sign * v_change.seconds,
           first = b.first + v_change.sign * v_change.first,
           first_began_at = b.first_began_at + v_change.sign * v_change.first * v_change.seconds,
           second = b.second + v_change.sign * v_change.second,
           second_began_at = b.second_began_at + v_change.sign * v_change.second * v_change.seconds
     where ${ofTheChange} and b.day >= v_change.day;
    update usage_balance b
       set is_last = not exists (
             select from usage_balance later
              where later.organisation_id = p_segment.organisation_id and ${sameCombination("later", "b")} and later.day > b.day)
     where ${ofTheChange} and (b.is_last or b.day = v_change.day);
  end loop;
end $$;

create function kule_usage_changed_late() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_until timestamptz;
begin
  select usage_balanced_until into v_until from organisation where id = new.organisation_id for no key update;
  if v_until is not null then
    if tg_op = 'UPDATE' then
      perform kule_usage_balance_late(old, v_until, -1);
    end if;
    perform kule_usage_balance_late(new, v_until, 1);
  end if;
  return null;
end $$;
-- What begins or ends now is added by kule_balance_usage. A correction changes what was added before.
create trigger usage_begun_late after insert on usage_segment for each row
  when (new.started_at < clock_timestamp() - interval '30 minutes')
  execute function kule_usage_changed_late();
create trigger usage_changed_late after update on usage_segment for each row
  when ((old.quantity, old.started_at) is distinct from (new.quantity, new.started_at)
        or old.ended_at is distinct from new.ended_at
           and least(old.ended_at, new.ended_at) < clock_timestamp() - interval '30 minutes')
  execute function kule_usage_changed_late();
`;
