import type { Schemas } from "@kule/contract/schemas";
import type { RegionList } from "@kule/proxmox/region-guests";
import type { RegionSettings } from "../region-settings.ts";

/** The region's settings that decide where servers can go. */
export type PlacementSettings = Pick<RegionSettings, "diskStorage" | "templates" | "targetNodes"> & {
  readonly vmidRange: { readonly first: number; readonly last: number };
};

type Capacity = Required<Pick<Schemas["InventoryEnd"], "nodes" | "storages" | "images">>;

/** The region's resources, as the control plane places servers by them. */
export function capacityOf(list: RegionList, settings: PlacementSettings): Capacity {
  const { first, last } = settings.vmidRange;
  const others = list.guests.filter(({ vmid, template }) => !template && (vmid < first || vmid > last));
  return {
    nodes: list.nodes.map((node) => {
      const running = others.filter((guest) => guest.node === node.name && guest.running);
      return {
        name: node.name,
        online: node.online,
        maintenance: node.maintenance,
        cpus: node.cpus,
        memory_bytes: node.memoryBytes,
        memory_used_bytes: node.memoryUsedBytes,
        others_memory_bytes: running.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0),
        others_vcpu: running.reduce((sum, { cpus }) => sum + (cpus ?? 0), 0),
      };
    }),
    storages: storagesOf(list, settings.diskStorage),
    images: Object.keys(settings.templates).map((image) => ({
      image,
      nodes: nodesFor(image, list, settings),
    })),
  };
}

/** A storage that all nodes share is one, whichever of them reports it. */
function storagesOf({ storages }: RegionList, name: string | null): Capacity["storages"] {
  const named = storages.filter((storage) => storage.name === name && storage.available);
  const [shared] = named.filter((storage) => storage.shared);
  const told = shared === undefined ? named : [shared];
  return told.map((storage) => ({
    name: storage.name,
    node: storage.shared ? null : storage.node,
    total_bytes: storage.totalBytes,
    used_bytes: storage.usedBytes,
  }));
}

/** The nodes where a server of the image can be created: the configured ones, or where its template is. */
function nodesFor(image: string, list: RegionList, { templates, targetNodes }: PlacementSettings): string[] {
  const template = templates[image];
  if (template === undefined) return [];
  const nodeOf = (vmid: number) => list.guests.find((guest) => guest.vmid === vmid && guest.template)?.node;
  if ("vmid" in template) {
    const own = nodeOf(template.vmid);
    if (own === undefined) return [];
    return targetNodes === null ? [own] : [...targetNodes];
  }
  return Object.entries(template.vmidByNode)
    .filter(([node, vmid]) => nodeOf(vmid) === node && (targetNodes === null || targetNodes.includes(node)))
    .map(([node]) => node);
}
