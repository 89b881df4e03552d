import type { Schemas } from "@kule/contract/schemas";
import { findPackage } from "@kule/rules/catalog/packages";
import {
  chooseNode,
  chooseNodeAgain,
  growthOf,
  hasCapacityToGrow,
  type Need,
  type NodeCapacity,
  type Region,
  type StorageCapacity,
  totalCapacity,
} from "@kule/rules/inventory/capacity";
import { staleAfterSeconds } from "@kule/rules/inventory/observation";
import { implausibleNode, implausibleStorage } from "@kule/rules/inventory/plausible";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import type { PassRow } from "./passes.ts";

const why = "a region's room is shared by all organisations";
const mib = 2 ** 20;
const gib = 2 ** 30;

/** A region's resources at its agent's last scan, with Kule's own servers included. */
export type StoredCapacity = Region & {
  /** The nodes that can host a server of an image. */
  readonly images: readonly { readonly image: string; readonly nodes: readonly string[] }[];
};

/** A region's capacity as far as it is known. */
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
 * Combines the agent's figures with the servers that existed when its scan began. A node or storage with
 * impossible figures has no capacity: nothing is placed by them.
 *
 * @returns the implausible figures too, for operators
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
  // What grew since the scan began is added whenever capacity is read, until a later scan includes it.
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

/** The capacity that is left in the region, by the agent's last report and what was accepted since. */
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
  /** Null: not known yet, and it may be any. */
  readonly node: string | null;
  readonly package: string;
  readonly disk_gb: number | null;
  /** The target of a resize under way. */
  readonly resize_package: string | null;
  readonly resize_disk_gb: number | null;
  /** Its VM is in what the agent measured. */
  readonly is_seen: boolean;
  readonly servers: number;
};

/** What is promised on a node, and the part of it that no measurement can include yet. */
type Share = {
  readonly node: string | null;
  readonly servers: number;
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly acceptedMemoryMb: number;
  readonly acceptedGb: number;
};

/** A server that is being resized takes the larger of its present and its future size. */
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

/** The size of a server: a resize to a smaller package leaves its disk as it was. */
export function sizeOf(slug: string, diskGb: number | null): Need {
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
 * The resize failed: its capacity is free at once, except what the server `keeps` of it. Otherwise a caller
 * who resizes and cancels repeatedly would fill the region for all until the next scan.
 */
export async function releaseGrowth(
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

/** What a report includes is no longer counted in addition to it. */
export async function deleteGrowth(tx: Tx, region: string, until: Date): Promise<void> {
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

/** The nodes that can host a server of the image; null when that is unknown, or may be any. */
export function nodesFor({ images }: StoredCapacity, image: string): readonly string[] | null {
  const nodes = images.find((each) => each.image === image)?.nodes ?? [];
  return nodes.length === 0 ? null : nodes;
}

/** With so little capacity left, creates are checked one after the other: two must not get the last place. */
const tightAt = 50;

export type Placed =
  | {
      readonly fits: true /** Null: the region file is the best known. */;
      readonly node: string | null;
    }
  | { readonly fits: false };

/**
 * Where in the region the server goes. Call it in the transaction that writes the server, before any
 * contended lock: when capacity is scarce it waits for the creates before it.
 */
export async function placeServer(tx: Tx, region: string, image: string, need: Need): Promise<Placed> {
  let capacity = await readCapacity(tx, region);
  if (!capacity.isFresh) return { fits: true, node: null };
  const nodes = nodesFor(capacity, image);
  if (totalCapacity(capacity, need, nodes) < tightAt) {
    await oneByOne(tx, region);
    capacity = await readCapacity(tx, region);
  }
  const node = chooseNode(capacity, need, nodes);
  return node === null ? { fits: false } : { fits: true, node };
}

/** From here to its end only this transaction allocates capacity of the region. */
async function oneByOne(tx: Tx, region: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('kule capacity'), hashtext(${region}))`.execute(
    systemQuery(tx, why),
  );
}

/**
 * Whether a server may grow where it is, and if so, allocates the capacity. Call it in the transaction that
 * writes the resize, after all other locks.
 */
export async function reserveCapacityToGrow(
  tx: Tx,
  server: Placeable,
  from: Need,
  to: Need,
): Promise<boolean> {
  const growth = growthOf(from, to);
  if (isNone(growth)) return true;
  await oneByOne(tx, server.region);
  const capacity = await readCapacity(tx, server.region);
  if (capacity.isFresh && !hasCapacityToGrow(capacity, server.node, from, to)) return false;
  await noteGrowth(tx, server, growth);
  return true;
}

/**
 * The node for a create that is retried and has no VM yet; what it takes on another node than before is
 * recorded.
 */
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
