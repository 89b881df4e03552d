// An overview of a cluster: which guests there are and where, and the resources of the nodes and storages.
// Ids, nodes, tags and pools are fresh in it; the rest is read from each VM itself (vm-look.ts).

import type { ProxmoxClient } from "./client.ts";
import { ProxmoxExists } from "./errors.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { parseTags } from "./tags.ts";

export type ListedGuest = {
  readonly vmid: number;
  readonly type: "qemu" | "lxc";
  readonly node: string;
  readonly lock: string | null;
  /** Lower case. */
  readonly tags: readonly string[];
  readonly pool: string | null;
  /** Up to ten seconds old, and missing for as long as a guest is new. */
  readonly running: boolean;
  readonly template: boolean;
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
};

export type ListedNode = {
  readonly name: string;
  readonly online: boolean;
  readonly maintenance: boolean;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly memoryUsedBytes: number;
};

export type ListedStorage = {
  readonly name: string;
  readonly node: string;
  readonly shared: boolean;
  readonly available: boolean;
  readonly totalBytes: number;
  readonly usedBytes: number;
};

export type RegionList = {
  readonly guests: readonly ListedGuest[];
  readonly nodes: readonly ListedNode[];
  readonly storages: readonly ListedStorage[];
};

type Limits = { readonly deadlineMilliseconds: number; readonly signal?: AbortSignal | undefined };

/**
 * One list of everything. Throws a ProxmoxError; a list that arrived is complete, as far as the token may
 * see.
 */
export async function listRegion(client: ProxmoxClient, limits: Limits): Promise<RegionList> {
  const [rows, nodes] = await Promise.all([
    client.call("GET /cluster/resources", {}, limits),
    client.call("GET /nodes", {}, limits),
  ]);
  const inMaintenance = new Set(
    rows.filter((row) => row.type === "node" && row.hastate === "maintenance").map((row) => row.node),
  );
  return {
    guests: rows.flatMap((row) => {
      const vmid = readNumber(row.vmid);
      if ((row.type !== "qemu" && row.type !== "lxc") || vmid === null || !row.node) return [];
      return [
        {
          vmid,
          type: row.type,
          node: row.node,
          lock: row.lock || null,
          tags: parseTags(row.tags),
          pool: row.pool || null,
          running: row.status === "running",
          template: readBoolean(row.template),
          memoryBytes: readNumber(row.maxmem),
          cpus: readNumber(row.maxcpu),
        },
      ];
    }),
    nodes: nodes.map((node) => ({
      name: node.node,
      online: node.status === "online",
      maintenance: inMaintenance.has(node.node),
      cpus: readNumber(node.maxcpu) ?? 0,
      memoryBytes: readNumber(node.maxmem) ?? 0,
      memoryUsedBytes: readNumber(node.mem) ?? 0,
    })),
    storages: rows.flatMap((row) =>
      row.type === "storage" && row.storage && row.node
        ? [
            {
              name: row.storage,
              node: row.node,
              shared: readBoolean(row.shared),
              available: row.status === "available",
              totalBytes: readNumber(row.maxdisk) ?? 0,
              usedBytes: readNumber(row.disk) ?? 0,
            },
          ]
        : [],
    ),
  };
}

/** Whether no guest has the number: the list shows only what the token may see, this sees everything. */
export async function isFreeVmid(client: ProxmoxClient, vmid: number, limits: Limits): Promise<boolean> {
  try {
    await client.call("GET /cluster/nextid", { vmid }, limits);
    return true;
  } catch (error) {
    if (error instanceof ProxmoxExists) return false;
    throw error;
  }
}
