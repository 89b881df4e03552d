import type { RequestQuery } from "@kule/contract/schemas";
import type { Drift } from "@kule/database/generated/rows";
import { staleAfterSeconds } from "@kule/rules/inventory/observation";
import { type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { isId } from "../../platform/ids.ts";
import { fetchPage, type Page } from "../../platform/pagination.ts";
import { sightingsToReport } from "./drift-notes.ts";

export type DriftRow = Selectable<Drift>;

/** Reported drift of all regions, newest first. */
export function listDrift(db: Database, query: RequestQuery<"listDrift">): Promise<Page<DriftRow>> {
  let rows = systemQuery(db, "operators see where regions differ from the records")
    .selectFrom("drift")
    .selectAll()
    .where("sightings", ">=", sightingsToReport);
  if (query.region !== undefined) rows = rows.where("region", "=", query.region);
  if (query.kind !== undefined) rows = rows.where("kind", "in", query.kind);
  if (query.server_id !== undefined) rows = rows.where("server_id", "=", query.server_id);
  return fetchPage(rows, {
    list: "drift",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "desc",
    keys: [
      { column: "drift.first_seen_at", kind: "time" },
      { column: "drift.id", kind: "text" },
    ],
  });
}

/** The last scan of a region that has ended. */
export type LastPass = {
  readonly number: number;
  readonly endedAt: Date;
  readonly complete: boolean;
  /** Guests that it found. */
  readonly vms: number;
  readonly trouble: string | null;
};

export async function findLastPass(db: Database, region: string): Promise<LastPass | null> {
  const row = await db
    .selectFrom("region_inventory")
    .select([
      "ended_pass",
      "ended_at",
      "ended_complete",
      "trouble",
      sql<number>`(select count(*)::integer from region_vm
        where region_vm.region = region_inventory.region and state <> 'absent')`.as("vms"),
    ])
    .where("region", "=", region)
    .executeTakeFirst();
  if (row?.ended_pass == null || row.ended_at === null) return null;
  return {
    number: row.ended_pass,
    endedAt: row.ended_at,
    complete: row.ended_complete ?? false,
    vms: row.vms,
    trouble: row.trouble,
  };
}

export type ImplausibleTrafficRow = {
  readonly organisation_id: string;
  readonly load_balancer_id: string;
  readonly slot: number;
  readonly implausible: string;
  readonly implausible_at: Date;
};

/** Machines of load balancers of which the region has said lately what cannot be, the latest first. */
export async function findImplausibleTraffic(db: Database, region: string): Promise<ImplausibleTrafficRow[]> {
  const { rows } = await sql<ImplausibleTrafficRow>`
    select sight.organisation_id, sight.load_balancer_id, sight.slot, sight.implausible, sight.implausible_at
      from load_balancer_sight sight
      join load_balancer_machine machine on machine.organisation_id = sight.organisation_id
        and machine.load_balancer_id = sight.load_balancer_id and machine.slot = sight.slot
     where machine.region = ${region} and sight.implausible_at > clock_timestamp() - interval '7 days'
     order by sight.implausible_at desc, sight.load_balancer_id, sight.slot
     limit 20`.execute(systemQuery(db, "operators see what regions say that cannot be"));
  return rows;
}

export type FoundGuest = {
  /** Why it cannot be adopted; null when no reason is known. */
  readonly why: string | null;
  readonly diskBytes: number | null;
  /** The server of the organisation that it is marked for and that the records do not have; null for any other. */
  readonly lostServerId: string | null;
};

/**
 * The VM of that number, by the last complete scan of the region; null when there was no recent scan: the job checks
 * for itself.
 */
export async function findGuest(
  tx: Tx,
  region: string,
  vmid: number,
  organisationId: string,
): Promise<FoundGuest | null> {
  const row = await tx
    .selectFrom("region_inventory")
    .leftJoin("region_vm", (join) =>
      join
        .onRef("region_vm.region", "=", "region_inventory.region")
        .onRef("region_vm.pass", ">=", "region_inventory.complete_pass")
        .on("region_vm.vmid", "=", vmid),
    )
    .select([
      "region_vm.state",
      "region_vm.marker_server_id",
      "region_vm.marker_organisation_id",
      "region_vm.marker_region",
      "region_vm.facts",
      "every_seconds",
      sql<number | null>`extract(epoch from clock_timestamp() - complete_began_at)::float8`.as("age"),
    ])
    .where("region_inventory.region", "=", region)
    .executeTakeFirst();
  if (row?.age == null || row.age > staleAfterSeconds(row.every_seconds)) return null;
  if (row.state === null || row.state === "absent")
    return { why: "was not there when the region was last looked at", diskBytes: null, lostServerId: null };
  const {
    type,
    template,
    disk_bytes: diskBytes = null,
  } = (row.facts ?? {}) as { type?: string; template?: boolean; disk_bytes?: number | null };
  const guest = { diskBytes, lostServerId: null };
  if (type === "lxc") return { ...guest, why: "is a container" };
  if (template === true) return { ...guest, why: "is a template" };
  const marked = row.marker_server_id;
  if (marked === null) return { ...guest, why: null };
  const isLost =
    row.marker_organisation_id === organisationId &&
    row.marker_region === region &&
    isId("srv", marked) &&
    !(await isServer(tx, marked));
  return isLost
    ? { ...guest, why: null, lostServerId: marked }
    : { ...guest, why: `is marked for ${marked}` };
}

async function isServer(tx: Tx, id: string): Promise<boolean> {
  const row = await systemQuery(tx, "a marker may name anybody's server")
    .selectFrom("server")
    .select("id")
    .where("id", "=", id)
    .executeTakeFirst();
  return row !== undefined;
}
