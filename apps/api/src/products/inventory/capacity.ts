import type { Schemas } from "@kule/contract/schemas";
import { findPackage } from "@kule/rules/catalog/packages";
import {
  chooseNode,
  chooseNodeAgain,
  growthOf,
  type Need,
  type NodeCapacity,
  type Region,
  roomInAll,
  roomToGrow,
  type StorageCapacity,
} from "@kule/rules/inventory/capacity";
import { staleAfterSeconds } from "@kule/rules/inventory/observation";
import { implausibleNode, implausibleStorage } from "@kule/rules/inventory/plausible";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import type { PassRow } from "./passes.ts";

const why = "a region's room is shared by all organisations";
const mib = 2 ** 20;
const gib = 2 ** 30;

/** What a region had when its agent last looked, with Kule's own servers counted in. */
export type StoredCapacity = Region & {
  /** The nodes that a server of an image can be made on. */
  readonly images: readonly { readonly image: string; readonly nodes: readonly string[] }[];
};

/** A region's room as far as it is known. */
export type KnownCapacity = StoredCapacity & {
  readonly reportedAt: Date | null;
  /** Fit to refuse a server by. */
  readonly isFresh: boolean;
};

type Reported = {
  readonly nodes: readonly Schemas["InventoryNode"][];
  readonly storages: readonly Schemas["InventoryStorage"][];
  readonly images: StoredCapacity["images"];
};

/**
 * Puts the agent's figures and the servers that were there when its look began into one. A node or storage with figures
 * that cannot be has no room: nothing is placed by them.
 *
 * @returns what was found implausible beside it, for operators
 */
export async function capacityOf(
  tx: Tx,
  region: string,
  { began_at, pass }: Pick<PassRow, "began_at" | "pass">,
  reported: Reported,
): Promise<{ readonly capacity: StoredCapacity; readonly implausible: readonly string[] }> {
  const nodes = reported.nodes.map(nodeOf);
  const storages = reported.storages.map(storageOf);
  const implausible = [...nodes.map(implausibleNode), ...storages.map(implausibleStorage)];
  const { rows } = await sql<PlacedRow>`
    select coalesce(m.node, s.node) as node, s.package, s.disk_gb, s.resize_package, s.resize_disk_gb,
           (m.vmid is not null) as is_seen, count(*)::integer as servers
      from server s
      join region_vmid v on v.server_id = s.id and v.state = 'used' and s.organisation_id is not null
      left join region_vm m on m.region = v.region and m.vmid = v.vmid and m.pass = ${pass} and m.state <> 'absent'
     where s.region = ${region} and s.deleted_at is null and s.created_at <= ${began_at}
     group by 1, 2, 3, 4, 5, 6`.execute(systemQuery(tx, why));
  // What grew since the look began is counted whenever room is read, until a later look takes it in.
  const since = await growthSince(tx, region, began_at ?? new Date());
  const capacity = withShares(
    {
      nodes: nodes.map((node) =>
        implausibleNode(node) === null ? node : { ...node, cpus: 0, memoryMb: 0, memoryUsedMb: 0 },
      ),
      storages: storages.map((storage) =>
        implausibleStorage(storage) === null ? storage : { ...storage, totalGb: 0, usedGb: 0 },
      ),
      images: reported.images.map(({ image, nodes }) => ({ image, nodes })),
    },
    [...rows.map(shareOf), ...since.map((share) => times(share, -1))],
  );
  return { capacity, implausible: implausible.filter((each) => each !== null) };
}

/** What is left in the region by what its agent said last and what was accepted since. */
export async function readCapacity(db: Database | Tx, region: string): Promise<KnownCapacity> {
  const found = await systemQuery(db, why)
    .selectFrom("region_inventory")
    .select([
      "capacity",
      "capacity_at",
      "every_seconds",
      sql<number>`extract(epoch from clock_timestamp() - capacity_at)::float8`.as("age"),
    ])
    .where("region", "=", region)
    .executeTakeFirst();
  if (found?.capacity_at == null)
    return { nodes: [], storages: [], images: [], reportedAt: null, isFresh: false };
  const { rows } = await sql<Pick<PlacedRow, "node" | "package" | "servers">>`
    select node, package, servers
      from kule_placed_since(${region}, ${found.capacity_at})`.execute(systemQuery(db, why));
  const placed = rows.map((row) =>
    shareOf({ ...row, disk_gb: null, resize_package: null, resize_disk_gb: null, is_seen: false }),
  );
  return {
    ...withShares(found.capacity as unknown as StoredCapacity, [
      ...placed,
      ...(await growthSince(db, region, found.capacity_at)),
    ]),
    reportedAt: found.capacity_at,
    isFresh: found.age <= staleAfterSeconds(found.every_seconds),
  };
}

type PlacedRow = {
  /** Null: nobody knows yet, and it may be any. */
  readonly node: string | null;
  readonly package: string;
  readonly disk_gb: number | null;
  /** Where a resize under way is going. */
  readonly resize_package: string | null;
  readonly resize_disk_gb: number | null;
  /** Its VM is in what the agent measured. */
  readonly is_seen: boolean;
  readonly servers: number;
};

/** What is promised on a node, and what of it no measurement can know of. */
type Share = {
  readonly node: string | null;
  readonly servers: number;
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly acceptedMemoryMb: number;
  readonly acceptedGb: number;
};

/** A server that is being resized takes the larger of what it has and what it will have. */
function shareOf(row: PlacedRow): Share {
  const has = sizeOf(row.package, row.disk_gb);
  const growth =
    row.resize_package === null ? nothing : growthOf(has, sizeOf(row.resize_package, row.resize_disk_gb));
  const whole = {
    vcpu: has.vcpu + growth.vcpu,
    memoryMb: has.memoryMb + growth.memoryMb,
    diskGb: has.diskGb + growth.diskGb,
  };
  const unmeasured = row.is_seen ? growth : whole;
  return times(
    {
      node: row.node,
      servers: 1,
      vcpu: whole.vcpu,
      memoryMb: whole.memoryMb,
      acceptedMemoryMb: unmeasured.memoryMb,
      acceptedGb: unmeasured.diskGb,
    },
    row.servers,
  );
}

const nothing: Need = { vcpu: 0, memoryMb: 0, diskGb: 0 };

function sizeOf(slug: string, diskGb: number | null): Need {
  const plan = findPackage(slug);
  if (plan === undefined) throw new Error(`no package ${slug}`);
  return { vcpu: plan.vcpu, memoryMb: plan.memoryMb, diskGb: diskGb ?? plan.diskGb };
}

function times(share: Share, factor: number): Share {
  return {
    node: share.node,
    servers: share.servers * factor,
    vcpu: share.vcpu * factor,
    memoryMb: share.memoryMb * factor,
    acceptedMemoryMb: share.acceptedMemoryMb * factor,
    acceptedGb: share.acceptedGb * factor,
  };
}

/** Promised since to servers that were there before. */
async function growthSince(db: Database | Tx, region: string, since: Date): Promise<Share[]> {
  const rows = await systemQuery(db, why)
    .selectFrom("region_growth")
    .select(["node", "vcpu", "memory_mb", "disk_gb"])
    .where("region", "=", region)
    .where("at", ">", since)
    .execute();
  return rows.map(({ node, vcpu, memory_mb, disk_gb }) => ({
    node,
    servers: 0,
    vcpu,
    memoryMb: memory_mb,
    acceptedMemoryMb: memory_mb,
    acceptedGb: disk_gb,
  }));
}

type Placeable = { readonly id: string; readonly region: string; readonly node: string | null };

async function noteGrowth(tx: Tx, { id, region, node }: Placeable, growth: Need): Promise<void> {
  await systemQuery(tx, why)
    .insertInto("region_growth")
    .values({
      region,
      server_id: id,
      node,
      vcpu: growth.vcpu,
      memory_mb: growth.memoryMb,
      disk_gb: growth.diskGb,
    })
    .execute();
}

const isNone = (need: Need) => need.vcpu + need.memoryMb + need.diskGb === 0;

/**
 * The resize came to nothing: its room is free at once, but for what the server `keeps` of it. Otherwise whoever asks and
 * cancels again and again would fill the region for everybody, until the next look at it.
 */
export async function giveBackGrowth(
  tx: Tx,
  server: Placeable,
  from: Need,
  to: Need,
  keeps: Need,
): Promise<void> {
  if (isNone(growthOf(from, to))) return;
  const kept = growthOf(from, keeps);
  const db = systemQuery(tx, why);
  await db
    .deleteFrom("region_growth")
    .where("id", "=", (newest) =>
      newest
        .selectFrom("region_growth as growth")
        .select("growth.id")
        .where("growth.server_id", "=", server.id)
        .where("growth.region", "=", server.region)
        .orderBy("growth.id", "desc")
        .limit(1),
    )
    .execute();
  if (!isNone(kept)) await noteGrowth(tx, server, kept);
}

/** What a report has taken in need not be counted beside it. */
export async function forgetGrowth(tx: Tx, region: string, until: Date): Promise<void> {
  await systemQuery(tx, why)
    .deleteFrom("region_growth")
    .where("region", "=", region)
    .where("at", "<=", until)
    .execute();
}

function withShares(capacity: StoredCapacity, shares: readonly Share[]): StoredCapacity {
  const sum = (rows: readonly Share[], of: Exclude<keyof Share, "node">) =>
    rows.reduce((total, row) => total + row[of], 0);
  return {
    ...capacity,
    nodes: capacity.nodes.map((node) => {
      const here = shares.filter((row) => row.node === node.name || row.node === null);
      return {
        ...node,
        servers: {
          count: node.servers.count + sum(here, "servers"),
          memoryMb: node.servers.memoryMb + sum(here, "memoryMb"),
          vcpu: node.servers.vcpu + sum(here, "vcpu"),
        },
        acceptedMemoryMb: node.acceptedMemoryMb + sum(here, "acceptedMemoryMb"),
      };
    }),
    storages: capacity.storages.map((storage) => {
      const here = shares.filter(
        (row) => storage.node === null || row.node === null || row.node === storage.node,
      );
      return { ...storage, acceptedGb: storage.acceptedGb + sum(here, "acceptedGb") };
    }),
  };
}

function nodeOf(node: Schemas["InventoryNode"]): NodeCapacity {
  return {
    name: node.name,
    online: node.online,
    maintenance: node.maintenance ?? false,
    cpus: node.cpus ?? 0,
    memoryMb: Math.floor((node.memory_bytes ?? 0) / mib),
    memoryUsedMb: Math.ceil((node.memory_used_bytes ?? 0) / mib),
    others: { memoryMb: Math.ceil((node.others_memory_bytes ?? 0) / mib), vcpu: node.others_vcpu ?? 0 },
    servers: { count: 0, memoryMb: 0, vcpu: 0 },
    acceptedMemoryMb: 0,
  };
}

function storageOf(storage: Schemas["InventoryStorage"]): StorageCapacity {
  return {
    name: storage.name,
    node: storage.node,
    totalGb: Math.floor(storage.total_bytes / gib),
    usedGb: Math.ceil(storage.used_bytes / gib),
    acceptedGb: 0,
  };
}

/** The nodes that a server of the image can be made on; null when that is not known, or may be any. */
export function nodesFor({ images }: StoredCapacity, image: string): readonly string[] | null {
  const nodes = images.find((each) => each.image === image)?.nodes ?? [];
  return nodes.length === 0 ? null : nodes;
}

/** With so little room left, creates are looked at one after the other: two must not be promised the last place. */
const tightAt = 50;

export type Placed =
  | {
      readonly fits: true /** Null: nobody knows better than the region file. */;
      readonly node: string | null;
    }
  | { readonly fits: false };

/**
 * Where in the region the server goes. Call it in the transaction that writes the server, before anything that others
 * want is held: when room is scarce it waits for the creates before it.
 */
export async function placeServer(tx: Tx, region: string, image: string, need: Need): Promise<Placed> {
  let capacity = await readCapacity(tx, region);
  if (!capacity.isFresh) return { fits: true, node: null };
  const nodes = nodesFor(capacity, image);
  if (roomInAll(capacity, need, nodes) < tightAt) {
    await oneByOne(tx, region);
    capacity = await readCapacity(tx, region);
  }
  const node = chooseNode(capacity, need, nodes);
  return node === null ? { fits: false } : { fits: true, node };
}

/** From here to its end this transaction alone gives room of the region away. */
async function oneByOne(tx: Tx, region: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('kule capacity'), hashtext(${region}))`.execute(
    systemQuery(tx, why),
  );
}

/**
 * Whether a server may grow where it is, and if so, takes the room. Call it in the transaction that writes the resize,
 * after everything else that is locked.
 */
export async function takeRoomToGrow(tx: Tx, server: Placeable, from: Need, to: Need): Promise<boolean> {
  const growth = growthOf(from, to);
  if (isNone(growth)) return true;
  await oneByOne(tx, server.region);
  const capacity = await readCapacity(tx, server.region);
  if (capacity.isFresh && !roomToGrow(capacity, server.node, from, to)) return false;
  await noteGrowth(tx, server, growth);
  return true;
}

/** Where a create goes that is tried again and has no VM yet; what it takes on another node than before is noted. */
export async function placeServerAgain(
  tx: Tx,
  server: Placeable & { readonly image: string },
  need: Need,
): Promise<Placed> {
  await oneByOne(tx, server.region);
  const capacity = await readCapacity(tx, server.region);
  if (!capacity.isFresh) return { fits: true, node: server.node };
  const own: Share = {
    node: server.node,
    servers: 1,
    vcpu: need.vcpu,
    memoryMb: need.memoryMb,
    acceptedMemoryMb: need.memoryMb,
    acceptedGb: need.diskGb,
  };
  const node = chooseNodeAgain(
    withShares(capacity, [times(own, -1)]),
    server.node,
    need,
    nodesFor(capacity, server.image),
  );
  if (node === null) return { fits: false };
  if (node !== server.node) await noteGrowth(tx, { ...server, node }, need);
  return { fits: true, node };
}
