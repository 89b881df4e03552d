import { failure, permissionDenied } from "../api-error.ts";
import { type Call, type Handlers, required, text } from "../call.ts";
import type { StorageDocument, VolumeDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { usedMemoryOf } from "../node-memory.ts";
import { nodesOf, storageOf } from "../region.ts";
import { splitList } from "../schema/property-schema.ts";
import { startTask } from "../tasks/worker.ts";
import { withStorageLock } from "../vm/drives.ts";
import { seesBridge } from "../vm/networks.ts";
import { versionOf } from "./cluster.ts";

function nodes(call: Call): unknown[] {
  const { region, authUser } = call;
  return nodesOf(region).map((node) => {
    const base = {
      id: `node/${node.name}`,
      type: "node",
      node: node.name,
      status: node.online ? "online" : "offline",
      ssl_fingerprint: "",
    };
    if (!node.online || !region.permissions.has(authUser, `/nodes/${node.name}`, "Sys.Audit")) return base;
    return {
      ...base,
      maxcpu: node.cores,
      maxmem: node.memoryBytes,
      cpu: 0.05,
      mem: usedMemoryOf(region, node),
      uptime: 86_400,
      level: "",
    };
  });
}

function nodeStatus(call: Call): unknown {
  const node = call.region.store.get("node", call.node);
  const memory = node?.memoryBytes ?? 0;
  const used = node === undefined ? 0 : usedMemoryOf(call.region, node);
  return {
    uptime: 86_400,
    cpu: 0.05,
    wait: 0,
    cpuinfo: { cpus: node?.cores, cores: node?.cores, sockets: 1, model: "Simulated CPU", mhz: "2600.000" },
    memory: { total: memory, used, free: memory - used },
    loadavg: ["0.10", "0.12", "0.09"],
    kversion: "Linux 6.17.2-1-pve",
    pveversion: `pve-manager/${versionOf(call.region).version}/lab`,
  };
}

/** Bridges that the caller may neither audit nor use are missing, without an error. */
function network(call: Call): unknown[] {
  const { region, authUser } = call;
  const type = text(call, "type");
  const bridges = region.store
    .all("bridge")
    .filter(({ iface }) => seesBridge(region, authUser, iface))
    .map(({ iface, vlanAware }) => ({
      iface,
      type: "bridge",
      active: 1,
      autostart: 1,
      method: "manual",
      bridge_ports: iface === "vmbr0" ? "eno1" : "eno2",
      bridge_stp: "off",
      bridge_fd: "0",
      ...(vlanAware ? { bridge_vlan_aware: 1 } : {}),
    }));
  const physical = ["eno1", "eno2"].map((iface) => ({
    iface,
    type: "eth",
    active: 1,
    exists: 1,
    method: "manual",
  }));
  if (type === undefined) return [...bridges, ...physical];
  if (["bridge", "any_bridge", "any_local_bridge", "include_sdn"].includes(type)) return bridges;
  return type === "eth" ? physical : [];
}

function onNode(storage: StorageDocument, node: string, volume: VolumeDocument): boolean {
  return volume.storage === storage.storage && (volume.node === null || volume.node === node);
}

function storageStatus(call: Call, storage: StorageDocument): Record<string, unknown> {
  const used = call.region.store
    .all("volume")
    .filter((volume) => onNode(storage, call.node, volume))
    .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return {
    storage: storage.storage,
    type: storage.type,
    content: storage.content.join(","),
    shared: storage.shared ? 1 : 0,
    active: 1,
    enabled: 1,
    total: storage.totalBytes,
    used,
    avail: storage.totalBytes - used,
    used_fraction: used / storage.totalBytes,
  };
}

function storages(call: Call): unknown[] {
  const { region, authUser } = call;
  const wanted = splitList(text(call, "content") ?? "");
  const only = text(call, "storage");
  return region.store
    .all("storage")
    .filter(
      ({ storage, content }) =>
        (only === undefined || only === storage) &&
        (wanted.length === 0 || wanted.some((kind) => content.includes(kind))) &&
        ["Datastore.Audit", "Datastore.AllocateSpace"].some((p) =>
          region.permissions.has(authUser, `/storage/${storage}`, p),
        ),
    )
    .map((storage) => storageStatus(call, storage));
}

function content(call: Call): unknown[] {
  const { region, authUser } = call;
  const storage = storageOf(region, required(call, "storage"));
  const kind = text(call, "content");
  const vmid = text(call, "vmid");
  const all = region.permissions.has(authUser, `/storage/${storage.storage}`, "Datastore.Allocate");
  const space = region.permissions.has(authUser, `/storage/${storage.storage}`, "Datastore.AllocateSpace");
  return region.store
    .all("volume")
    .filter((v) => onNode(storage, call.node, v))
    .filter(
      (v) => (kind === undefined || v.content === kind) && (vmid === undefined || v.vmid === Number(vmid)),
    )
    .filter(
      (v) =>
        all || space || v.vmid === null || region.permissions.has(authUser, `/vms/${v.vmid}`, "VM.Audit"),
    )
    .map(({ volid, vmid: owner, sizeBytes, format, content: type, parent, createdAt }) => ({
      volid,
      format,
      size: sizeBytes,
      content: type,
      ctime: createdAt,
      ...(owner === null ? {} : { vmid: owner }),
      ...(parent === null ? {} : { parent }),
    }));
}

function deleteVolume(call: Call): string {
  const { region, node, authUser } = call;
  const storage = required(call, "storage");
  const name = required(call, "volume");
  const volid = name.includes(":") ? name : `${storage}:${name}`;
  const volume = region.store.get("volume", volid);
  if (!region.permissions.has(authUser, `/storage/${storage}`, "Datastore.Allocate")) {
    throw permissionDenied(`/storage/${storage}, Datastore.Allocate`);
  }
  if (volume === undefined) throw failure(`volume '${volid}' does not exist`);
  return startTask(
    region,
    { node, type: "imgdel", id: `${volume.vmid ?? ""}@${storage}`, user: authUser },
    async (worker) => {
      await withStorageLock(region, node, storage, async () => {
        if (region.store.all("volume").some(({ parent }) => parent === volid)) {
          throw new Error(`base volume '${volume.name}' is still in use by linked clones`);
        }
        await worker.wait(seconds.freeVolume);
        const owner = volume.vmid === null ? {} : { vmid: volume.vmid };
        worker.commit({ op: "volume-freed", ...owner, detail: { volid } }, [["volume", volid, null]]);
        worker.log(`Removed volume '${volid}'`);
      });
    },
  );
}

export const nodeHandlers: Handlers = {
  "GET /nodes": nodes,
  "GET /nodes/{node}/status": nodeStatus,
  "GET /nodes/{node}/version": ({ region }) => versionOf(region),
  "GET /nodes/{node}/time": ({ region }) => {
    const now = Math.floor(region.runtime.nowMs() / 1000);
    return { timezone: "UTC", time: now, localtime: now };
  },
  "GET /nodes/{node}/dns": () => ({ search: "lab.internal", dns1: "192.0.2.53" }),
  "GET /nodes/{node}/network": network,
  "GET /nodes/{node}/storage": storages,
  "GET /nodes/{node}/storage/{storage}/status": (call) =>
    storageStatus(call, storageOf(call.region, required(call, "storage"))),
  "GET /nodes/{node}/storage/{storage}/content": content,
  "DELETE /nodes/{node}/storage/{storage}/content/{volume}": deleteVolume,
  "GET /storage": ({ region, authUser }) =>
    region.store
      .all("storage")
      .filter(({ storage }) =>
        ["Datastore.Audit", "Datastore.AllocateSpace"].some((p) =>
          region.permissions.has(authUser, `/storage/${storage}`, p),
        ),
      )
      .map(({ storage, type, content: kinds, shared }) => ({
        storage,
        type,
        content: kinds.join(","),
        shared: shared ? 1 : 0,
      })),
  "GET /storage/{storage}": (call) => {
    const { storage, type, content: kinds, shared } = storageOf(call.region, required(call, "storage"));
    return { storage, type, content: kinds.join(","), shared: shared ? 1 : 0 };
  },
};
