import { type Call, text } from "../call.ts";
import type { PoolDocument, VmDocument } from "../documents.ts";
import { usedMemoryOf } from "../node-memory.ts";
import { nodesOf } from "../region.ts";

/** Name and status come from the last broadcast, up to ten seconds old; id, node, lock, tags and pool are fresh. */
function vmRow(call: Call, vm: VmDocument, pools: readonly PoolDocument[]): Record<string, unknown> {
  const { region } = call;
  const node = region.store.get("node", vm.node);
  const row = node?.online === false ? undefined : region.rrd.row(vm.vmid);
  const pool = pools.find(({ vms }) => vms.includes(vm.vmid));
  const lock = vm.temporary ? "clone" : vm.config.lock;
  const fresh = {
    id: `qemu/${vm.vmid}`,
    type: "qemu",
    vmid: vm.vmid,
    node: vm.node,
    ...(lock === undefined ? {} : { lock }),
    ...(vm.temporary || vm.config.tags === undefined ? {} : { tags: vm.config.tags }),
    ...(pool === undefined ? {} : { pool: pool.poolid }),
  };
  if (row === undefined) return { ...fresh, status: "unknown", template: 0 };
  const { startedAt, ...rest } = row;
  const uptime = startedAt === null ? 0 : Math.floor((region.runtime.nowMs() - startedAt) / 1000);
  return {
    ...fresh,
    ...rest,
    uptime,
    cpu: 0,
    mem: row.status === "running" ? Math.round(row.maxmem * 0.35) : 0,
    disk: 0,
    netin: 0,
    netout: 0,
    diskread: 0,
    diskwrite: 0,
  };
}

/** GET cluster/resources: what the caller may see of VMs, nodes, storages and pools. */
export function clusterResources(call: Call): unknown[] {
  const { region, authUser } = call;
  const { permissions, store } = region;
  const wanted = text(call, "type");
  const wants = (type: string): boolean => wanted === undefined || wanted === type;
  const pools = store.all("pool");
  const rows: unknown[] = [];
  if (wanted === undefined || wanted === "pool") {
    for (const pool of pools) {
      if (permissions.has(authUser, `/pool/${pool.poolid}`, "Pool.Audit")) {
        rows.push({ id: `/pool/${pool.poolid}`, type: "pool", pool: pool.poolid });
      }
    }
  }
  if (wants("vm")) {
    for (const vm of store.all("vm")) {
      if (permissions.has(authUser, `/vms/${vm.vmid}`, "VM.Audit")) rows.push(vmRow(call, vm, pools));
    }
  }
  for (const node of nodesOf(region)) {
    if (wants("node")) {
      const base = {
        id: `node/${node.name}`,
        type: "node",
        node: node.name,
        status: node.online ? "online" : "offline",
        ...(node.maintenance === true ? { hastate: "maintenance" } : {}),
      };
      const audit = permissions.has(authUser, `/nodes/${node.name}`, "Sys.Audit");
      const figures = {
        maxcpu: node.cores,
        maxmem: node.memoryBytes,
        cpu: 0.05,
        mem: usedMemoryOf(region, node),
        uptime: 86_400,
        level: "",
      };
      rows.push(audit && node.online ? { ...base, ...figures } : base);
    }
    if (wants("storage")) {
      for (const storage of store.all("storage")) {
        if (!permissions.has(authUser, `/storage/${storage.storage}`, "Datastore.Audit")) continue;
        const used = store
          .all("volume")
          .filter((v) => v.storage === storage.storage)
          .reduce((sum, v) => sum + v.sizeBytes, 0);
        rows.push({
          id: `storage/${node.name}/${storage.storage}`,
          type: "storage",
          storage: storage.storage,
          node: node.name,
          status: node.online ? "available" : "unknown",
          shared: storage.shared ? 1 : 0,
          plugintype: storage.type,
          content: storage.content.join(","),
          maxdisk: storage.totalBytes,
          disk: used,
        });
      }
    }
    if (wants("sdn") && permissions.has(authUser, "/sdn/zones/localnetwork", "SDN.Audit")) {
      rows.push({
        id: `sdn/${node.name}/localnetwork`,
        type: "sdn",
        sdn: "localnetwork",
        node: node.name,
        status: "ok",
      });
    }
  }
  return rows;
}
