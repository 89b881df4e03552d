import { isolateTenants } from "../tenant-isolation.ts";

/** The tables whose rows are counted one by one; servers are counted by their size. */
const countedTables = [
  "network",
  "subnet",
  "ssh_key",
  "public_ip",
  "firewall",
  "firewall_rule",
  "gateway",
  "member",
  "domain",
  "certificate",
  "load_balancer",
] as const;

const countTable = (table: string) => `
create trigger ${table}_counted_insert after insert on ${table}
  referencing new table as changed for each statement execute function kule_count_rows();
create trigger ${table}_counted_delete after delete on ${table}
  referencing old table as changed for each statement execute function kule_count_rows();`;

/** What makes two servers count in one row. */
const size = "package, disk_gb, resize_package, resize_disk_gb, status in ('pending_deletion', 'deleting')";
const sizeOf = (server: "old" | "new") =>
  `${server}.package, ${server}.disk_gb, ${server}.resize_package, ${server}.resize_disk_gb, ${server}.status in ('pending_deletion', 'deleting')`;
/** A managed server takes CPUs, memory and disk as any other; it is not one of the servers that its organisation lists. */
const nameOf = (server: string) =>
  `case when ${server}managed_by_type is null then 'server' else 'managed_server' end`;
const columns =
  "organisation_id, resource, package, disk_gb, resize_package, resize_disk_gb, is_leaving, amount";

/** How much of its quotas each organisation has, kept by the counted tables' own triggers. */
export const quotaCounts = `
-- The sum of an organisation's rows is what it has. A change only inserts a row, so that transactions of one organisation
-- do not wait for each other; kule_fold_quota_counts replaces many rows by their sums. The sizes of packages are not known
-- here, so servers are counted by what their size follows from.
create table quota_count (
  organisation_id text not null,
  resource text not null,
  package text,
  disk_gb integer,
  resize_package text,
  resize_disk_gb integer,
  is_leaving boolean not null default false,
  amount integer not null
);
create index quota_count_organisation on quota_count (organisation_id);
grant select on quota_count to kule_api;
${isolateTenants("quota_count")}

create function kule_count_rows() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into quota_count (organisation_id, resource, amount)
    select organisation_id, tg_table_name, case tg_op when 'INSERT' then count(*) else -count(*) end
      from changed group by organisation_id;
  return null;
end $$;
${countedTables.map(countTable).join("")}

create function kule_count_servers() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into quota_count (${columns})
    select organisation_id, ${nameOf("")}, ${size},
           case tg_op when 'INSERT' then count(*) else -count(*) end
      from changed where deleted_at is null
     group by 1, 2, 3, 4, 5, 6, 7;
  return null;
end $$;
create trigger server_counted_insert after insert on server
  referencing new table as changed for each statement execute function kule_count_servers();
create trigger server_counted_delete after delete on server
  referencing old table as changed for each statement execute function kule_count_servers();

create function kule_recount_server() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.deleted_at is null then
    insert into quota_count (${columns}) values (old.organisation_id, ${nameOf("old.")}, ${sizeOf("old")}, -1);
  end if;
  if new.deleted_at is null then
    insert into quota_count (${columns}) values (new.organisation_id, ${nameOf("new.")}, ${sizeOf("new")}, 1);
  end if;
  return null;
end $$;
create trigger server_counted_update after update on server for each row
  when ((${sizeOf("old")}, old.deleted_at is null) is distinct from (${sizeOf("new")}, new.deleted_at is null))
  execute function kule_recount_server();

/* Replaces an organisation's rows by their sums. Two that fold at once, or fold and recount, wait for each other. */
create function kule_fold_quota_counts(p_organisation_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from organisation where id = p_organisation_id for no key update;
  with folded as (delete from quota_count where organisation_id = p_organisation_id returning *)
  insert into quota_count (${columns})
    select organisation_id, resource, package, disk_gb, resize_package, resize_disk_gb, is_leaving, sum(amount)
      from folded group by 1, 2, 3, 4, 5, 6, 7 having sum(amount) <> 0;
end $$;
grant execute on function kule_fold_quota_counts(text) to kule_api;

/* Every organisation's counts, counted from the rows: what the rows of quota_count must add up to. */
create view quota_due with (security_invoker = true) as
  select organisation_id, ${nameOf("")} as resource, package, disk_gb, resize_package, resize_disk_gb,
         status in ('pending_deletion', 'deleting') as is_leaving, count(*)::integer as amount
    from server where deleted_at is null group by 1, 2, 3, 4, 5, 6, 7
${countedTables
  .map(
    (table) =>
      `  union all select organisation_id, '${table}', null, null, null, null, false, count(*)::integer from ${table} group by 1`,
  )
  .join("\n")};

/* Counts an organisation again from its rows; for counts that were found wrong. */
create function kule_recount_quotas(p_organisation_id text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from organisation where id = p_organisation_id for no key update;
  -- One statement, so one snapshot: a change that is not committed yet adds its own row when it is.
  with gone as (delete from quota_count where organisation_id = p_organisation_id)
  insert into quota_count (${columns})
    select ${columns} from quota_due where organisation_id = p_organisation_id;
end $$;
`;
