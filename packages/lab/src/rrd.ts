import type { VmDocument } from "./documents.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store.ts";

/** pvestatd's last broadcast about a VM: up to ten seconds old. */
export interface RrdRow {
  readonly name: string;
  readonly status: "running" | "stopped";
  readonly template: number;
  readonly maxcpu: number;
  readonly maxmem: number;
  readonly maxdisk: number;
  readonly startedAt: number | null;
}

export interface Rrd {
  /** Undefined until the first broadcast after the VM appeared. */
  row(vmid: number): RrdRow | undefined;
  stop(): void;
}

const BROADCAST_SECONDS = 10;

function bootDiskBytes(store: Store, vm: VmDocument): number {
  const first = vm.config.scsi0 ?? vm.config.virtio0 ?? vm.config.sata0;
  const volid = first?.split(",")[0]?.replace(/^file=/, "");
  return volid === undefined ? 0 : (store.get("volume", volid)?.sizeBytes ?? 0);
}

function rowOf(store: Store, vm: VmDocument): RrdRow {
  return {
    name: vm.config.name ?? `VM ${vm.vmid}`,
    status: vm.process === null ? "stopped" : "running",
    template: vm.config.template === "1" ? 1 : 0,
    maxcpu: Number(vm.config.cores ?? 1) * Number(vm.config.sockets ?? 1),
    maxmem: Number(vm.config.memory ?? 512) * 1024 * 1024,
    maxdisk: bootDiskBytes(store, vm),
    startedAt: vm.process?.startedAt ?? null,
  };
}

/**
 * Maintains the stale half of cluster/resources. At time scale 0 a change shows after one turn of the event
 * loop.
 */
export function makeRrd(runtime: Runtime, store: Store): Rrd {
  const rows = new Map<number, RrdRow>();
  let cancel: (() => void) | undefined;
  const refresh = (vmid: number): void => {
    const vm = store.get("vm", String(vmid));
    if (vm === undefined) rows.delete(vmid);
    else rows.set(vmid, rowOf(store, vm));
  };
  // A clone that takes no time is never long enough in progress for a broadcast to see it.
  const refreshUnlessCloning = (vmid: number): void => {
    const vm = store.get("vm", String(vmid));
    if (vm?.config.lock !== "clone") refresh(vmid);
  };
  const broadcast = (): void => {
    const vms = store.all("vm");
    const known = new Set(vms.map(({ vmid }) => vmid));
    for (const vmid of rows.keys()) if (!known.has(vmid)) rows.delete(vmid);
    for (const { vmid } of vms) refresh(vmid);
    schedule();
  };
  const schedule = (): void => {
    if (runtime.timeScale > 0)
      cancel = runtime.after(BROADCAST_SECONDS * 1000 * runtime.timeScale, broadcast);
  };
  broadcast();
  if (runtime.timeScale === 0) {
    store.onCommit((changes) => {
      for (const [collection, id] of changes) {
        if (collection === "vm") void runtime.wait(0).then(() => refreshUnlessCloning(Number(id)));
      }
    });
  }
  return { row: (vmid) => rows.get(vmid), stop: () => cancel?.() };
}
