import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, type Page } from "../../platform/pagination.ts";
import { sightingsToReport } from "./drift-notes.ts";

const why = "operators see what differs after a restore of the database";

export type RestoreRow = {
  readonly id: string;
  readonly restored_at: Date;
  readonly moment: Date | null;
  readonly summary: unknown;
};

/** The last one; null when the database never was restored. */
export async function findRestore(db: Database): Promise<RestoreRow | null> {
  const row = await db
    .selectFrom("restore")
    .select(["id", "restored_at", "moment", "summary"])
    .orderBy("restored_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

export type RegionRestoreRow = {
  readonly region: string;
  readonly scanned_at: Date | null;
  readonly ended_at: Date | null;
  readonly takes_incomplete: boolean;
  readonly trouble: string | null;
  readonly held_vms: number;
  readonly missing_servers: number;
  readonly changed_servers: number;
  readonly in_buffer: number;
  readonly to_destroy: number;
  readonly unknown_networks: string[];
};

/** The regions that there were at the restore, by slug; of one of them only that one. */
export async function listRegionRestores(
  db: Database | Tx,
  region: string | null = null,
): Promise<RegionRestoreRow[]> {
  const { rows } = await sql<RegionRestoreRow>`
    select r.slug as region, r.restore_scanned_at as scanned_at, r.restore_ended_at as ended_at,
           r.restore_takes_incomplete as takes_incomplete,
           case when i.ended_complete is false then i.trouble end as trouble,
           (select count(*)::integer from held_vm h where h.region = r.slug) as held_vms,
           (select count(*)::integer from drift d
             where d.region = r.slug and d.kind = 'missing' and d.sightings >= ${sightingsToReport}) as missing_servers,
           (select count(*)::integer from drift d
             where d.region = r.slug and d.kind = 'changed' and d.sightings >= ${sightingsToReport}) as changed_servers,
           case when r.restore_ended_at is null then (
             select count(*)::integer from server s where s.region = r.slug and s.status = 'pending_deletion'
                and s.deletion_requested_at < r.restored_at) else 0 end as in_buffer,
           (select count(*)::integer from job j where j.region = r.slug and j.status = 'queued'
               and j.kind = 'ServerDestroy' and j.created_at < r.restored_at) as to_destroy,
           array(
             select seen.id from jsonb_array_elements_text(coalesce(r.edge -> 'networks', '[]'::jsonb)) as seen (id)
              where r.edge_at is not null
                and not exists (select 1 from network n where n.id = seen.id and n.region = r.slug)
              order by 1) as unknown_networks
      from region r left join region_inventory i on i.region = r.slug
     where r.restored_at is not null and (${region}::text is null or r.slug = ${region})
     order by r.slug`.execute(systemQuery(db, why));
  return rows;
}

export type HeldVmRow = {
  readonly id: string;
  readonly region: string;
  readonly vmid: number;
  readonly held: unknown;
  readonly disputed: unknown;
  readonly first_seen_at: Date;
  readonly node: string | null;
  readonly name: string | null;
  readonly power: string | null;
  readonly marker_server_id: string | null;
  readonly marker_organisation_id: string | null;
  readonly organisation_name: string | null;
  readonly is_known: boolean;
  readonly facts: unknown;
};

/** By its marker, or by the tags that are left of it. */
const markedFor = (prefix: "srv" | "org", column: string) => sql<string | null>`coalesce(
  ${sql.ref(`region_vm.${column}`)},
  (select tag from jsonb_array_elements_text(case jsonb_typeof(region_vm.facts -> 'tags') when 'array'
     then region_vm.facts -> 'tags' else '[]'::jsonb end) as each (tag)
    where starts_with(tag, ${`${prefix}_`}) order by tag limit 1))`;

/** VMs whose numbers or addresses are held back, newest first. */
export function listHeldVms(db: Database, query: RequestQuery<"listHeldVms">): Promise<Page<HeldVmRow>> {
  let rows = systemQuery(db, why)
    .selectFrom("held_vm")
    .leftJoin("region_vm", (join) =>
      join.onRef("region_vm.region", "=", "held_vm.region").onRef("region_vm.vmid", "=", "held_vm.vmid"),
    )
    .select([
      "held_vm.id",
      "held_vm.region",
      "held_vm.vmid",
      "held_vm.held",
      "held_vm.disputed",
      "held_vm.first_seen_at",
      "region_vm.node",
      "region_vm.name",
      "region_vm.power",
      markedFor("srv", "marker_server_id").as("marker_server_id"),
      markedFor("org", "marker_organisation_id").as("marker_organisation_id"),
      "region_vm.facts",
      sql<
        string | null
      >`(select o.name from organisation o where o.id = ${markedFor("org", "marker_organisation_id")})`.as(
        "organisation_name",
      ),
      sql<boolean>`coalesce((select v.state = 'used' and v.server_id = region_vm.marker_server_id
        from region_vmid v where v.region = held_vm.region and v.vmid = held_vm.vmid), false)`.as("is_known"),
    ]);
  if (query.region !== undefined) rows = rows.where("held_vm.region", "=", query.region);
  return fetchPage(rows, {
    list: "held-vms",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "desc",
    keys: [
      { column: "held_vm.first_seen_at", kind: "time" },
      { column: "held_vm.id", kind: "text" },
    ],
  });
}

export function viewRestore(row: RestoreRow): Schemas["Restore"] {
  const { jobs_ended, jobs_kept, sessions_ended, codes_ended, tokens_valid } =
    row.summary as Schemas["Restore"];
  return {
    id: row.id,
    restored_at: row.restored_at.toISOString(),
    moment: row.moment?.toISOString() ?? null,
    jobs_ended,
    jobs_kept,
    sessions_ended,
    codes_ended,
    tokens_valid,
  };
}

export function viewRegionRestore(row: RegionRestoreRow): Schemas["RegionRestore"] {
  return {
    region: row.region,
    state: row.scanned_at === null ? "waiting" : row.ended_at === null ? "scanned" : "ended",
    scanned_at: row.scanned_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
    accepts_incomplete_scan: row.takes_incomplete,
    last_scan_trouble: row.trouble,
    held_vms: row.held_vms,
    missing_servers: row.missing_servers,
    changed_servers: row.changed_servers,
    servers_in_removal_buffer: row.in_buffer,
    servers_to_destroy: row.to_destroy,
    unknown_networks: row.unknown_networks,
  };
}

type StoredNumber = {
  readonly kind: Schemas["HeldNumber"]["kind"];
  readonly value: string;
  readonly subnetId: string | null;
  readonly holder: string | null;
};

const viewNumbers = (numbers: unknown): Schemas["HeldNumber"][] =>
  (numbers as StoredNumber[]).map(({ kind, value, subnetId, holder }) => ({
    kind,
    value,
    subnet_id: subnetId,
    holder,
  }));

export function viewHeldVm(row: HeldVmRow): Schemas["HeldVm"] {
  const {
    vcpu = null,
    memory_mb = null,
    disk_bytes = null,
  } = (row.facts ?? {}) as {
    vcpu?: number;
    memory_mb?: number;
    disk_bytes?: number | null;
  };
  return {
    id: row.id,
    region: row.region,
    vmid: row.vmid,
    node: row.node,
    name: row.name,
    power: row.power as "on" | "off" | null,
    server_id: row.marker_server_id,
    organisation_id: row.marker_organisation_id,
    organisation_name: row.organisation_name,
    is_known: row.is_known,
    vcpu,
    memory_mb,
    disk_gb: disk_bytes === null ? null : Math.ceil(disk_bytes / 2 ** 30),
    held: viewNumbers(row.held),
    disputed: viewNumbers(row.disputed),
    first_seen_at: row.first_seen_at.toISOString(),
  };
}
