import type { Schemas } from "@kule/contract/schemas";
import { findPackage } from "@kule/rules/catalog/packages";
import {
  chooseNode,
  type Need,
  type NodeCapacity,
  type Region,
  roomInAll,
  type StorageCapacity,
} from "@kule/rules/inventory/capacity";
import { staleAfterSeconds } from "@kule/rules/inventory/observation";
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

/** Puts the agent's figures and the servers that were there when its look began into one. */
export async function capacityOf(
  tx: Tx,
  region: string,
  { began_at, pass }: Pick<PassRow, "began_at" | "pass">,
  reported: Reported,
): Promise<StoredCapacity> {
  const { rows } = await sql<PlacedRow>`
    select coalesce(m.node, s.node) as node, s.package, (m.vmid is not null) as is_seen, count(*)::integer as servers
      from server s
      join region_vmid v on v.server_id = s.id and v.state = 'used' and s.organisation_id is not null
      left join region_vm m on m.region = v.region and m.vmid = v.vmid and m.pass = ${pass} and m.state <> 'absent'
     where s.region = ${region} and s.deleted_at is null and s.created_at <= ${began_at}
     group by 1, 2, 3`.execute(systemQuery(tx, why));
  return withServers(
    {
      nodes: reported.nodes.map(nodeOf),
      storages: reported.storages.map(storageOf),
      images: reported.images.map(({ image, nodes }) => ({ image, nodes })),
    },
    rows,
  );
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
  const { rows } = await sql<PlacedRow>`
    select node, package, false as is_seen, servers
      from kule_placed_since(${region}, ${found.capacity_at})`.execute(systemQuery(db, why));
  return {
    ...withServers(found.capacity as unknown as StoredCapacity, rows),
    reportedAt: found.capacity_at,
    isFresh: found.age <= staleAfterSeconds(found.every_seconds),
  };
}

type PlacedRow = {
  /** Null: nobody knows yet, and it may be any. */
  readonly node: string | null;
  readonly package: string;
  /** Its VM is in what the agent measured. */
  readonly is_seen: boolean;
  readonly servers: number;
};

function withServers(capacity: StoredCapacity, placed: readonly PlacedRow[]): StoredCapacity {
  const taken = placed.map((row) => {
    const plan = findPackage(row.package);
    if (plan === undefined) throw new Error(`no package ${row.package}`);
    const { servers } = row;
    return {
      ...row,
      vcpu: plan.vcpu * servers,
      memoryMb: plan.memoryMb * servers,
      diskGb: plan.diskGb * servers,
    };
  });
  const sum = (rows: typeof taken, of: "vcpu" | "memoryMb" | "diskGb" | "servers") =>
    rows.reduce((total, row) => total + row[of], 0);
  return {
    ...capacity,
    nodes: capacity.nodes.map((node) => {
      const here = taken.filter((row) => row.node === node.name || row.node === null);
      const unseen = here.filter((row) => !row.is_seen);
      return {
        ...node,
        servers: {
          count: node.servers.count + sum(here, "servers"),
          memoryMb: node.servers.memoryMb + sum(here, "memoryMb"),
          vcpu: node.servers.vcpu + sum(here, "vcpu"),
        },
        acceptedMemoryMb: node.acceptedMemoryMb + sum(unseen, "memoryMb"),
      };
    }),
    storages: capacity.storages.map((storage) => {
      const here = taken.filter(
        (row) => !row.is_seen && (storage.node === null || row.node === null || row.node === storage.node),
      );
      return { ...storage, acceptedGb: storage.acceptedGb + sum(here, "diskGb") };
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
    await sql`select pg_advisory_xact_lock(hashtext('kule capacity'), hashtext(${region}))`.execute(
      systemQuery(tx, why),
    );
    capacity = await readCapacity(tx, region);
  }
  const node = chooseNode(capacity, need, nodes);
  return node === null ? { fits: false } : { fits: true, node };
}
