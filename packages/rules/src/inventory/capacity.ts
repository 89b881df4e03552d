/** A node's resources, by the region agent's report, and how much of them is promised. */
export type NodeCapacity = {
  readonly name: string;
  readonly online: boolean;
  readonly maintenance: boolean;
  readonly cpus: number;
  readonly memoryMb: number;
  /** Measured by the node itself. */
  readonly memoryUsedMb: number;
  /** Configured for guests that are not Kule's. */
  readonly others: { readonly memoryMb: number; readonly vcpu: number };
  /** Kule's servers there, by their packages, running or not: each may be started at any time. */
  readonly servers: { readonly count: number; readonly memoryMb: number; readonly vcpu: number };
  /** The part of those that the measurement cannot include yet. */
  readonly acceptedMemoryMb: number;
};

export type StorageCapacity = {
  readonly name: string;
  /** Null: one storage for all nodes. */
  readonly node: string | null;
  readonly totalGb: number;
  readonly usedGb: number;
  /** Accepted since that was measured. */
  readonly acceptedGb: number;
};

export type Need = { readonly vcpu: number; readonly memoryMb: number; readonly diskGb: number };

/** A node's own share: the system, its storage daemons, the guests' overhead. */
const ownMemoryShare = 0.05;
/** Guests rarely compute all at once. */
export const vcpuPerCpu = 4;
/** A storage that is full stops every guest on it. */
const ownStorageShare = 0.05;

/** Memory that may still be allocated: by what is measured and by what is promised, whichever leaves less. */
export function freeMemoryMb(node: NodeCapacity): number {
  if (!node.online || node.maintenance) return 0;
  const usable = Math.floor(node.memoryMb * (1 - ownMemoryShare));
  const measured = node.memoryMb - node.memoryUsedMb - node.acceptedMemoryMb;
  const promised = usable - node.others.memoryMb - node.servers.memoryMb;
  return Math.max(0, Math.min(measured, promised));
}

export function freeVcpu(node: NodeCapacity): number {
  if (!node.online || node.maintenance) return 0;
  return Math.max(0, node.cpus * vcpuPerCpu - node.others.vcpu - node.servers.vcpu);
}

export function freeStorageGb(storage: StorageCapacity): number {
  return Math.max(
    0,
    Math.floor(storage.totalGb * (1 - ownStorageShare)) - storage.usedGb - storage.acceptedGb,
  );
}

export type Region = {
  readonly nodes: readonly NodeCapacity[];
  /** Where servers' disks go. */
  readonly storages: readonly StorageCapacity[];
};

export type Room = { readonly node: string; readonly fits: number };

/**
 * How many servers of the kind fit on each of the nodes, those with most capacity first. No VM may have more
 * vCPUs than its node has CPUs: the hypervisor would not start it.
 *
 * @param nodes where the image can be created; null: anywhere
 */
export function capacityFor(region: Region, need: Need, nodes: readonly string[] | null): Room[] {
  return region.nodes
    .filter(({ name }) => nodes === null || nodes.includes(name))
    .map((node) => ({ node: node.name, fits: fitsOn(node, region.storages, need) }))
    .filter(({ fits }) => fits > 0)
    .sort((one, other) => other.fits - one.fits || (one.node < other.node ? -1 : 1));
}

function fitsOn(node: NodeCapacity, storages: readonly StorageCapacity[], need: Need): number {
  if (need.vcpu > node.cpus) return 0;
  const storage = storages.find((each) => each.node === null || each.node === node.name);
  // Without any report about storage it does not refuse a server.
  const unknown = storages.length === 0 ? Number.POSITIVE_INFINITY : 0;
  const byDisk = storage === undefined ? unknown : Math.floor(freeStorageGb(storage) / need.diskGb);
  return Math.max(
    0,
    Math.min(Math.floor(freeMemoryMb(node) / need.memoryMb), Math.floor(freeVcpu(node) / need.vcpu), byDisk),
  );
}

/** How many fit in all: a shared storage counts once, however many nodes use it. */
export function totalCapacity(region: Region, need: Need, nodes: readonly string[] | null): number {
  const rooms = capacityFor(region, need, nodes);
  const all = rooms.reduce((sum, { fits }) => sum + fits, 0);
  const shared = region.storages.find((storage) => storage.node === null);
  return shared === undefined ? all : Math.min(all, Math.floor(freeStorageGb(shared) / need.diskGb));
}

/** Where the next server goes: to the node with most room; null when it fits nowhere. */
export function chooseNode(region: Region, need: Need, nodes: readonly string[] | null): string | null {
  if (totalCapacity(region, need, nodes) < 1) return null;
  return capacityFor(region, need, nodes)[0]?.node ?? null;
}

/** The additional resources of a server for its new size; none is below zero. */
export function growthOf(from: Need, to: Need): Need {
  return {
    vcpu: Math.max(0, to.vcpu - from.vcpu),
    memoryMb: Math.max(0, to.memoryMb - from.memoryMb),
    diskGb: Math.max(0, to.diskGb - from.diskGb),
  };
}

/**
 * Whether a server may grow where it is: it does not move for that.
 *
 * @param on its node; null: unknown, and any node with capacity will do
 */
export function hasCapacityToGrow(region: Region, on: string | null, from: Need, to: Need): boolean {
  const growth = growthOf(from, to);
  const nodes = region.nodes.filter(({ name }) => on === null || name === on);
  // A node that the last report does not contain is no reason to refuse.
  if (nodes.length === 0) return true;
  return nodes.some((node) => growsOn(node, region.storages, growth, to.vcpu));
}

function growsOn(
  node: NodeCapacity,
  storages: readonly StorageCapacity[],
  growth: Need,
  vcpu: number,
): boolean {
  if (growth.vcpu > 0 && (vcpu > node.cpus || growth.vcpu > freeVcpu(node))) return false;
  if (growth.memoryMb > freeMemoryMb(node)) return false;
  if (growth.diskGb === 0 || storages.length === 0) return true;
  const storage = storages.find((each) => each.node === null || each.node === node.name);
  return storage !== undefined && growth.diskGb <= freeStorageGb(storage);
}

/**
 * The node for a server that was placed once and was never created: its old one if that still has capacity,
 * else the one with most; null when it fits nowhere.
 *
 * @param region with the server's own share not counted in
 */
export function chooseNodeAgain(
  region: Region,
  former: string | null,
  need: Need,
  nodes: readonly string[] | null,
): string | null {
  if (former !== null && capacityFor(region, need, nodes).some(({ node }) => node === former)) return former;
  return chooseNode(region, need, nodes);
}
