import type { Schemas } from "@kule/contract/schemas";
import { freeMemoryMb, freeStorageGb, freeVcpu } from "@kule/rules/inventory/capacity";
import type { KnownCapacity } from "./capacity.ts";
import type { DriftRow, ImplausibleTrafficRow, LastPass } from "./store.ts";

/** An entry of the operators' list. */
export function viewDrift(row: DriftRow): Schemas["Drift"] {
  return {
    id: row.id,
    kind: row.kind as Schemas["DriftKind"],
    region: row.region,
    vmid: row.vmid,
    node: row.node,
    vm_name: row.vm_name,
    organisation_id: row.organisation_id,
    server_id: row.server_id,
    marker: row.marker,
    message: row.message,
    differences: row.differences as Schemas["DriftDifference"][],
    first_seen_at: row.first_seen_at.toISOString(),
    last_seen_at: row.last_seen_at.toISOString(),
  };
}

/** A region's capacity as operators see it. */
export function viewCapacity(
  region: string,
  capacity: KnownCapacity,
  pass: LastPass | null,
  traffic: readonly ImplausibleTrafficRow[],
): Schemas["RegionCapacity"] {
  return {
    region,
    reported_at: capacity.reportedAt?.toISOString() ?? null,
    fresh: capacity.isFresh,
    nodes: capacity.nodes.map((node) => ({
      name: node.name,
      online: node.online,
      maintenance: node.maintenance,
      cpus: node.cpus,
      memory_mb: node.memoryMb,
      memory_used_mb: node.memoryUsedMb,
      memory_free_mb: freeMemoryMb(node),
      vcpu_free: freeVcpu(node),
      servers: node.servers.count,
    })),
    storages: capacity.storages.map((storage) => ({
      name: storage.name,
      node: storage.node,
      total_gb: storage.totalGb,
      used_gb: storage.usedGb,
      free_gb: freeStorageGb(storage),
    })),
    last_pass:
      pass === null
        ? null
        : {
            number: pass.number,
            ended_at: pass.endedAt.toISOString(),
            complete: pass.complete,
            vms: pass.vms,
            trouble: pass.trouble,
          },
    implausible_traffic: traffic.map(
      ({ organisation_id, load_balancer_id, slot, implausible, implausible_at }) => ({
        organisation_id,
        load_balancer_id,
        slot: slot as 1 | 2,
        message: implausible,
        at: implausible_at.toISOString(),
      }),
    ),
  };
}
