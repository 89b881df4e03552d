import { failure } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import type { VmDocument } from "../documents.ts";
import { vmOn } from "../region.ts";
import { splitList } from "../schema/property-schema.ts";
import { cloudInitFiles, isCloudInitProperty } from "../vm/cloud-init.ts";
import { configView, PASSWORD_MASK, typedValue } from "../vm/config-file.ts";
import { cloudInitKey } from "../vm/drives.ts";
import { agentEnabled } from "../vm/guest.ts";

const vmOf = (call: Call): VmDocument => vmOn(call.region, call.node, required(call, "vmid"));

function lockOf(vm: VmDocument): string | undefined {
  return vm.temporary ? "clone" : vm.config.lock;
}

/** Live figures of one VM, as in vmstatus. */
function status(call: Call, vm: VmDocument): Record<string, unknown> {
  const { region } = call;
  const running = vm.process !== null;
  const memory = Number(vm.config.memory ?? 512) * 1024 * 1024;
  const cpus = Number(vm.config.cores ?? 1) * Number(vm.config.sockets ?? 1);
  const disk = /size=(\d+)G/.exec(vm.config.scsi0 ?? vm.config.virtio0 ?? "")?.[1];
  const lock = lockOf(vm);
  return {
    vmid: vm.vmid,
    name: vm.config.name ?? `VM ${vm.vmid}`,
    status: running ? "running" : "stopped",
    ...(lock === undefined ? {} : { lock }),
    ...(vm.config.tags === undefined ? {} : { tags: vm.config.tags }),
    ...(vm.config.template === "1" ? { template: 1 } : {}),
    ...(vm.process === null ? {} : { pid: vm.process.pid }),
    cpus,
    maxmem: memory,
    maxdisk: disk === undefined ? 0 : Number(disk) * 1024 ** 3,
    uptime: vm.process === null ? 0 : Math.floor((region.runtime.nowMs() - vm.process.startedAt) / 1000),
    cpu: 0,
    mem: running ? Math.round(memory * 0.35) : 0,
    disk: 0,
    netin: 0,
    netout: 0,
    diskread: 0,
    diskwrite: 0,
  };
}

function list(call: Call): unknown[] {
  const { region, node, authUser } = call;
  return region.store
    .all("vm")
    .filter((vm) => vm.node === node && region.permissions.has(authUser, `/vms/${vm.vmid}`, "VM.Audit"))
    .map((vm) => status(call, vm));
}

function current(call: Call): Record<string, unknown> {
  const vm = vmOf(call);
  return {
    ...status(call, vm),
    qmpstatus: vm.process === null ? "stopped" : vm.process.paused ? "paused" : "running",
    ha: { managed: 0 },
    ...(agentEnabled(vm) ? { agent: 1 } : {}),
    ...(vm.process === null ? {} : { "running-machine": "pc-i440fx-10.1+pve0", "running-qemu": "10.1.2" }),
  };
}

function config(call: Call): Record<string, unknown> {
  const snapshot = text(call, "snapshot");
  const vm = vmOf(call);
  if (snapshot !== undefined) throw failure(`snapshot '${snapshot}' does not exist`);
  return configView(vm, flag(call, "current"));
}

function pending(call: Call): unknown[] {
  const vm = vmOf(call);
  const mask = (key: string, value: string): string | number =>
    key === "cipassword" ? PASSWORD_MASK : typedValue(key, value);
  const keys = new Set([
    ...Object.keys(vm.config),
    ...Object.keys(vm.pending),
    ...Object.keys(vm.pendingDelete),
  ]);
  return [...keys].sort().map((key) => {
    const value = vm.config[key];
    const next = vm.pending[key];
    const remove = vm.pendingDelete[key];
    return {
      key,
      ...(value === undefined ? {} : { value: mask(key, value) }),
      ...(next === undefined ? {} : { pending: mask(key, next) }),
      ...(remove === undefined ? {} : { delete: remove ? 2 : 1 }),
    };
  });
}

/** The guest's present drive compared with the config. */
function cloudInitPending(call: Call): unknown[] {
  const vm = vmOf(call);
  const added = new Set(splitList(vm.cloudInitChanges.added ?? ""));
  const keys = new Set(
    [...Object.keys(vm.config), ...Object.keys(vm.cloudInitChanges)].filter(isCloudInitProperty),
  );
  return [...keys].sort().map((key) => {
    const mask = (value: string): string => (key === "cipassword" ? PASSWORD_MASK : value);
    const now = vm.config[key];
    const before = vm.cloudInitChanges[key];
    if (added.has(key) && now !== undefined) return { key, pending: mask(now) };
    if (before === undefined) return { key, value: mask(now ?? "") };
    return { key, value: mask(before), ...(now === undefined ? { delete: 1 } : { pending: mask(now) }) };
  });
}

function dump(call: Call): string {
  const vm = vmOf(call);
  const type = required(call, "type") as "user" | "network" | "meta";
  return cloudInitFiles(vm.config, vm.vmid)[type];
}

export const vmReadHandlers: Handlers = {
  "GET /nodes/{node}/qemu": list,
  "GET /nodes/{node}/qemu/{vmid}": (call) => {
    vmOf(call);
    return ["config", "pending", "status", "agent", "firewall", "cloudinit"].map((subdir) => ({ subdir }));
  },
  "GET /nodes/{node}/qemu/{vmid}/config": config,
  "GET /nodes/{node}/qemu/{vmid}/pending": pending,
  "GET /nodes/{node}/qemu/{vmid}/status": () =>
    ["current", "start", "stop", "shutdown"].map((subdir) => ({ subdir })),
  "GET /nodes/{node}/qemu/{vmid}/status/current": current,
  "GET /nodes/{node}/qemu/{vmid}/cloudinit": (call) => {
    if (cloudInitKey(vmOf(call).config) === undefined) return [];
    return cloudInitPending(call);
  },
  "GET /nodes/{node}/qemu/{vmid}/cloudinit/dump": dump,
};
