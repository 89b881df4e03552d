import {
  addressKey,
  numbersHeldFor,
  type RecordedUse,
  type UsedNumber,
  type UseRecords,
  type UsingVm,
} from "@kule/rules/inventory/held-numbers";
import { containsAddress, parseAddress, parseCidr } from "@kule/rules/networks/cidr";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { RegionFacts, RegionRestore } from "./find-drift.ts";
import type { PassRow } from "./passes.ts";

/*
 * After a restore of the database from a backup, VMs use numbers and addresses that the records have for free: they were
 * made, or given an address, after the moment of the backup. Each complete scan holds these back, so that nobody else
 * gets them, and releases those of VMs that are gone or have become a server's.
 */

const why = "what is in use in a region is of whoever's VM it is";

/** Longer than any restore takes to be worked through. What is released has a row of `held_vm`, not a time. */
const heldFor = sql<Date>`clock_timestamp() + interval '100 years'`;
/** As after the removal of a server. */
const tombstone = sql<Date>`clock_timestamp() + interval '30 days'`;
const quarantine = sql<Date>`clock_timestamp() + interval '10 minutes'`;

/**
 * Holds back what this scan saw in use, and lets the region allocate again when it is the first that shows all of it. A
 * scan that began before the restore shows what was, and an incomplete one not everything.
 */
export async function holdWhatIsUsed(
  tx: Tx,
  region: RegionFacts,
  restore: RegionRestore,
  pass: PassRow,
  isComplete: boolean,
): Promise<void> {
  if (pass.began_at === null || pass.began_at <= restore.restoredAt) return;
  const isEnough = isComplete || (restore.takesIncomplete && !restore.isScanned);
  if (!isEnough) return;
  const seen = await vmsOf(tx, region, pass.pass);
  if (!restore.isScanned && !restore.takesIncomplete && !areAddressesKnown(seen, restore, pass)) return;
  if (!restore.isScanned) await followPublicIps(tx, region.slug, seen);
  const before = await heldBefore(tx, region.slug);
  // After the end only what was held is looked after.
  const vms = restore.isEnded ? seen.filter(({ vmid }) => before.has(vmid)) : seen;
  const records = await recordsOf(tx, region.slug, vms);
  const found = vms.flatMap((vm) => {
    const { held, disputed } = numbersHeldFor(vm, records);
    return held.length + disputed.length === 0 ? [] : [{ vmid: vm.vmid, held, disputed }];
  });
  await hold(
    tx,
    region.slug,
    found.flatMap(({ held }) => held),
  );
  await keepRows(tx, region.slug, pass.pass, found);
  if (isComplete) await release(tx, region.slug, pass.pass, found, before);
  if (!restore.isScanned) await openRegion(tx, region.slug, pass.began_at);
}

/** An agent reads the firewalls of more guests than this over five scans. */
const fewGuests = 200;

/** What each guest may use was read, and since the restore: a firewall of before it may have been changed meanwhile. */
function areAddressesKnown(seen: readonly SeenVm[], restore: RegionRestore, pass: PassRow): boolean {
  if (seen.some(({ isRead }) => !isRead)) return false;
  const sinceSeconds = ((pass.began_at?.getTime() ?? 0) - restore.restoredAt.getTime()) / 1000;
  return seen.length <= fewGuests || sinceSeconds > 5 * pass.every_seconds;
}

/**
 * A reserved address that a server's VM was seen with, and that of its holder by the records was not, was attached or
 * moved after the moment of the backup. It is recorded as where a detach or a move has stopped that has not ended: its
 * other server does not get it before it was taken off this one. No job has run in the region since the restore.
 */
async function followPublicIps(tx: Tx, region: string, seen: readonly SeenVm[]): Promise<void> {
  const used = seen.flatMap(({ holder, interfaces }) =>
    holder === null
      ? []
      : interfaces
          .filter(({ isPrivate }) => !isPrivate)
          .flatMap(({ addresses }) => addresses.map((address) => ({ server_id: holder.serverId, address }))),
  );
  if (used.length === 0) return;
  const isThere = sql`i.server_id is not distinct from used.server_id`;
  await sql`
    with used as materialized (
      select server_id, address::inet as address
        from jsonb_to_recordset(${JSON.stringify(used)}::jsonb) as each(server_id text, address text))
    update public_ip i
       set held_by = used.server_id, is_applied = ${isThere}, requires_reboot = false, reboot_since = null,
           status_code = case when ${isThere} then null when i.server_id is null then 'detach_failed' else 'move_failed' end,
           status_message = case when ${isThere} then null
             else 'The server has the address in its region, which the backup that was restored does not say' end,
           status_job_id = null, updated_at = clock_timestamp()
      from used join server s on s.id = used.server_id
     where i.address = used.address and i.organisation_id = s.organisation_id and i.region = ${region}
       and i.gateway_id is null and i.load_balancer_id is null and i.held_by is distinct from used.server_id
       and not exists (select 1 from used other where other.address = i.address and other.server_id = i.held_by)
       and not exists (select 1 from used other where other.address = i.address and other.server_id <> used.server_id)`.execute(
    systemQuery(tx, why),
  );
}

type SeenVm = UsingVm & { readonly isRead: boolean };

async function vmsOf(tx: Tx, region: RegionFacts, pass: number): Promise<SeenVm[]> {
  const { rows } = await sql<{
    vmid: number;
    vmid_state: string | null;
    server_id: string | null;
    owner_id: string | null;
    type: string | null;
    template: boolean | null;
    has_addresses: boolean | null;
    interfaces: { vlan?: number | null; bridge?: string | null; addresses?: string[] }[] | null;
  }>`
    select m.vmid, v.state as vmid_state, s.id as server_id, s.managed_by_id as owner_id,
           m.facts ->> 'type' as type, (m.facts ->> 'template')::boolean as template,
           (m.facts ->> 'has_addresses')::boolean as has_addresses, m.facts -> 'interfaces' as interfaces
      from region_vm m
      left join region_vmid v on v.region = m.region and v.vmid = m.vmid
      left join server s on s.id = v.server_id and v.state = 'used' and s.region = m.region
     where m.region = ${region.slug} and m.pass = ${pass} and m.state <> 'absent'
     order by m.vmid`.execute(systemQuery(tx, why));
  return rows.map((row) => ({
    vmid: row.vmid,
    holder: row.server_id === null ? null : { serverId: row.server_id, ownerId: row.owner_id },
    isInPool: row.vmid_state !== null,
    isRead: row.type === "lxc" || row.template === true || row.has_addresses === true,
    interfaces: (row.interfaces ?? []).map(({ vlan, bridge, addresses }) => ({
      vlan: vlan ?? null,
      isPrivate: region.privateBridge === null || bridge === region.privateBridge,
      addresses: addresses ?? [],
    })),
  }));
}

async function recordsOf(tx: Tx, region: string, vms: readonly UsingVm[]): Promise<UseRecords> {
  const interfaces = vms.flatMap((vm) => vm.interfaces);
  const vlans = [...new Set(interfaces.flatMap(({ vlan }) => vlan ?? []))];
  const addresses = [...new Set(interfaces.flatMap((each) => each.addresses))];
  const db = systemQuery(tx, why);
  const [segments, inside, outside] = await Promise.all([
    sql<{ vlan: number; subnet_id: string | null; cidr: string | null }>`
      select v.vlan, v.subnet_id, u.cidr::text as cidr
        from region_vlan v left join subnet u on u.id = v.subnet_id and u.region = v.region
       where v.region = ${region} and v.vlan = any (${vlans}::integer[])`.execute(db),
    sql<{
      subnet_id: string;
      address: string;
      is_free: boolean;
      server_id: string | null;
      owner_id: string | null;
      holder: string;
    }>`
      select a.subnet_id, host(a.address) as address, a.state = 'quarantined' as is_free, n.server_id,
             a.load_balancer_id as owner_id,
             coalesce(n.server_id, a.load_balancer_id, a.reservation_id, a.subnet_id) as holder
        from region_vlan v
        join address a on a.subnet_id = v.subnet_id and a.address = any (${addresses}::inet[])
        left join nic n on n.organisation_id = a.organisation_id and n.id = a.nic_id
       where v.region = ${region} and v.vlan = any (${vlans}::integer[])`.execute(db),
    sql<{
      address: string;
      is_free: boolean;
      server_id: string | null;
      held_by: string | null;
      owner_id: string | null;
      holder: string;
    }>`
      select host(a.address) as address, a.state in ('free', 'quarantined') as is_free, i.server_id, i.held_by,
             i.load_balancer_id as owner_id,
             coalesce(i.held_by, i.load_balancer_id, i.gateway_id, i.id, a.pool_id) as holder
        from public_address a
        join ip_pool p on p.id = a.pool_id and p.region = ${region}
        left join public_ip i on i.organisation_id = a.allocated_to and i.id = a.public_ip_id
       where a.address = any (${addresses}::inet[])`.execute(db),
  ]);
  return {
    vlans: new Map(segments.rows.map(({ vlan, subnet_id, cidr }) => [vlan, { subnetId: subnet_id, cidr }])),
    addresses: new Map(
      inside.rows.map((row): [string, RecordedUse] => [
        addressKey(row.subnet_id, row.address),
        {
          isFree: row.is_free,
          serverIds: row.server_id === null ? [] : [row.server_id],
          ownerId: row.owner_id,
          holder: row.holder,
        },
      ]),
    ),
    publicAddresses: new Map(
      outside.rows.map((row): [string, RecordedUse] => [
        row.address,
        {
          isFree: row.is_free,
          serverIds: [row.server_id, row.held_by].flatMap((id) => id ?? []),
          ownerId: row.owner_id,
          holder: row.holder,
        },
      ]),
    ),
    isInSubnet,
  };
}

function isInSubnet(address: string, cidr: string): boolean {
  const block = parseCidr(cidr);
  const number = parseAddress(address);
  return typeof block !== "string" && number !== null && containsAddress(block, number);
}

const valuesOf = (numbers: readonly UsedNumber[], kind: UsedNumber["kind"]): string[] =>
  numbers.filter((each) => each.kind === kind).map(({ value }) => value);

async function hold(tx: Tx, region: string, numbers: readonly UsedNumber[]): Promise<void> {
  const db = systemQuery(tx, why);
  // Without a server: so a quarantine of ours is known from one that follows a job.
  await sql`
    update region_vmid set state = 'quarantined', server_id = null, free_after = null
     where region = ${region} and vmid = any (${valuesOf(numbers, "vmid")}::integer[])
       and state in ('free', 'tombstone')`.execute(db);
  await sql`
    update region_vlan set held = true
     where region = ${region} and vlan = any (${valuesOf(numbers, "vlan")}::integer[])
       and subnet_id is null and not held`.execute(db);
  const inside = numbers.filter(({ kind }) => kind === "address");
  await sql`
    insert into address (subnet_id, organisation_id, address, state, free_after)
    select u.id, u.organisation_id, used.address::inet, 'quarantined', ${heldFor}
      from unnest(${inside.map(({ subnetId }) => subnetId)}::text[], ${inside.map(({ value }) => value)}::text[])
             as used (subnet_id, address)
      join subnet u on u.id = used.subnet_id and u.region = ${region}
    on conflict (subnet_id, address) do update set free_after = excluded.free_after
     where address.state = 'quarantined'`.execute(db);
  await sql`
    update public_address a set state = 'quarantined', free_after = ${heldFor}
      from ip_pool p
     where p.id = a.pool_id and p.region = ${region}
       and a.address = any (${valuesOf(numbers, "public_address")}::inet[])
       and (a.state = 'free' or a.state = 'quarantined' and a.free_after < clock_timestamp() + interval '1 year')`.execute(
    db,
  );
}

type Found = {
  readonly vmid: number;
  readonly held: readonly UsedNumber[];
  readonly disputed: readonly UsedNumber[];
};

async function heldBefore(tx: Tx, region: string): Promise<Map<number, readonly UsedNumber[]>> {
  const rows = await tx.selectFrom("held_vm").select(["vmid", "held"]).where("region", "=", region).execute();
  return new Map(rows.map(({ vmid, held }) => [vmid, held as unknown as UsedNumber[]]));
}

async function keepRows(tx: Tx, region: string, pass: number, found: readonly Found[]): Promise<void> {
  if (found.length === 0) return;
  await tx
    .insertInto("held_vm")
    .values(
      found.map(({ vmid, held, disputed }) => ({
        id: newId("hvm"),
        region,
        vmid,
        pass,
        held: JSON.stringify(held),
        disputed: JSON.stringify(disputed),
      })),
    )
    .onConflict((conflict) =>
      conflict.constraint("held_vm_vmid").doUpdateSet((excluded) => ({
        pass: excluded.ref("excluded.pass"),
        held: excluded.ref("excluded.held"),
        disputed: excluded.ref("excluded.disputed"),
      })),
    )
    .execute();
}

/** What no VM uses any more rests as after the removal of a server. */
async function release(
  tx: Tx,
  region: string,
  pass: number,
  found: readonly Found[],
  before: ReadonlyMap<number, readonly UsedNumber[]>,
): Promise<void> {
  const keyOf = ({ kind, value, subnetId }: UsedNumber) => `${kind} ${subnetId} ${value}`;
  const held = new Set(found.flatMap((each) => each.held.map(keyOf)));
  const gone = [...before.values()].flat().filter((each) => !held.has(keyOf(each)));
  await releaseNumbers(tx, region, gone);
  await tx.deleteFrom("held_vm").where("region", "=", region).where("pass", "<", pass).execute();
}

async function releaseNumbers(tx: Tx, region: string, numbers: readonly UsedNumber[]): Promise<void> {
  if (numbers.length === 0) return;
  const db = systemQuery(tx, why);
  await sql`
    update region_vmid set state = 'tombstone', free_after = ${tombstone}
     where region = ${region} and vmid = any (${valuesOf(numbers, "vmid")}::integer[])
       and state = 'quarantined' and server_id is null`.execute(db);
  await sql`
    update region_vlan set held = false
     where region = ${region} and vlan = any (${valuesOf(numbers, "vlan")}::integer[]) and held`.execute(db);
  const inside = numbers.filter(({ kind }) => kind === "address");
  await sql`
    update address a set free_after = ${quarantine}
      from unnest(${inside.map(({ subnetId }) => subnetId)}::text[], ${inside.map(({ value }) => value)}::text[])
             as used (subnet_id, address)
     where a.subnet_id = used.subnet_id and a.address = used.address::inet and a.state = 'quarantined'`.execute(
    db,
  );
  await sql`
    update public_address a set free_after = ${quarantine}
      from ip_pool p
     where p.id = a.pool_id and p.region = ${region} and a.state = 'quarantined'
       and a.address = any (${valuesOf(numbers, "public_address")}::inet[])`.execute(db);
}

/** From here on the region allocates and hands jobs out again. */
async function openRegion(tx: Tx, region: string, began: Date): Promise<void> {
  await tx
    .updateTable("region")
    .set({ restore_scanned_at: began })
    .where("slug", "=", region)
    .where("restore_scanned_at", "is", null)
    .execute();
  await sql`select pg_notify('kule_region', ${region})`.execute(tx);
}

/** What is held back for the VM of that number. The next scan sees whose it has become. */
export async function heldForVm(tx: Tx, region: string, vmid: number): Promise<readonly UsedNumber[]> {
  const row = await tx
    .selectFrom("held_vm")
    .select("held")
    .where("region", "=", region)
    .where("vmid", "=", vmid)
    .forUpdate()
    .executeTakeFirst();
  return (row?.held ?? []) as unknown as UsedNumber[];
}

/** A private address that is held back may be taken, in this transaction, by the server that its VM becomes. */
export async function releaseHeldAddress(
  tx: Tx,
  organisationId: string,
  { subnetId, value }: Pick<UsedNumber, "subnetId" | "value">,
): Promise<void> {
  await tx
    .updateTable("address")
    .set({ free_after: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("subnet_id", "=", subnetId)
    .where("address", "=", value)
    .where("state", "=", "quarantined")
    .execute();
}
