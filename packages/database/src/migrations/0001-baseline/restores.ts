/**
 * What a restore of the database from a backup leaves behind: the mark of `kule-server restored`, and the VMs whose numbers
 * and addresses nobody else gets. See docs/runbooks/backup-and-restore.md.
 *
 * A region that was restored has three states, in columns of its row: `restored_at` alone: nothing is allocated or done there;
 * `restore_scanned_at`: a complete scan was taken in, so what is free is known; `restore_ended_at`: an operator has worked
 * through what differs, and removals go on.
 */
export const restores = `
-- One row for each restore, written before the start that follows it.
create table restore (
  id text primary key,
  restored_at timestamptz not null default clock_timestamp(),
  -- The last change that the backup has.
  moment timestamptz,
  -- Every claim's epoch is greater: whatever was claimed after the moment holds nothing any more.
  epoch_floor integer not null,
  summary jsonb not null
);
create index restore_newest on restore (restored_at desc);
grant select on restore to kule_api;

-- VMs that use numbers or addresses which the records have for free: made, or given them, after the moment of a restored
-- backup. What they use is held back for as long as scans see them.
create table held_vm (
  id text primary key,
  region text not null references region (slug),
  vmid integer not null,
  pass integer not null,
  first_seen_at timestamptz not null default clock_timestamp(),
  -- What is held back: { kind: vmid | vlan | address | public_address, value, subnet_id }.
  held jsonb not null,
  -- What the VM uses and the records have for another: the same, with its holder.
  disputed jsonb not null default '[]',
  constraint held_vm_vmid unique (region, vmid)
);
create index held_vm_list on held_vm (first_seen_at desc, id desc);
grant select, insert, update, delete on held_vm to kule_api;

-- Refuses to allocate anything in a region of which it is not known what is in use there. The API answers it with 409.
create function kule_refuse_unscanned(p_region text) returns void
language plpgsql stable set search_path = public, pg_temp as $$
begin
  perform 1 from region
    where slug = p_region and restored_at is not null and restore_scanned_at is null;
  if found then
    raise exception using errcode = '23514', constraint = 'region_scanned', detail = p_region,
      message = 'the region was not scanned since the database was restored';
  end if;
end $$;

create function kule_allocate_when_scanned() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  perform kule_refuse_unscanned(new.region);
  return new;
end $$;
create trigger vmid_when_scanned before update on region_vmid for each row
  when (old.state <> 'used' and new.state = 'used') execute function kule_allocate_when_scanned();
create trigger vlan_when_scanned before update on region_vlan for each row
  when (old.subnet_id is null and new.subnet_id is not null) execute function kule_allocate_when_scanned();
create trigger reservation_when_scanned before insert on address_reservation for each row
  execute function kule_allocate_when_scanned();

-- Public addresses are on edges, too, which scans of VMs do not see. An edge that has a network which the records do not
-- have, or has not been brought to the records' state yet, may use one that is free by the records.
-- With the owner's rights: row-level security hides the networks of others.
create function kule_allocate_public_when_scanned() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_region region;
begin
  select r.* into v_region from region r join ip_pool p on p.region = r.slug where p.id = new.pool_id;
  if v_region.restored_at is null or v_region.restore_ended_at is not null then
    return new;
  end if;
  perform kule_refuse_unscanned(v_region.slug);
  if v_region.has_edge and (
    v_region.edge_at is null or v_region.edge_at < v_region.restored_at
    or exists (
      select from jsonb_array_elements_text(coalesce(v_region.edge -> 'networks', '[]'::jsonb)) as seen (id)
       where not exists (select from network n where n.id = seen.id and n.region = v_region.slug))
    or exists (
      select from network n where n.region = v_region.slug and n.on_edge and n.applied_at < v_region.restored_at)
  ) then
    raise exception using errcode = '23514', constraint = 'region_edge_known', detail = v_region.slug,
      message = 'the edge of the region may use public addresses that the records have for free';
  end if;
  return new;
end $$;
create trigger public_address_when_scanned before update on public_address for each row
  when (old.state in ('free', 'quarantined') and new.state = 'used')
  execute function kule_allocate_public_when_scanned();
grant execute on function kule_refuse_unscanned(text) to kule_api;
`;
