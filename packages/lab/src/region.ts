import { makePermissions, type Permissions } from "./access/permissions.ts";
import { failure } from "./api-error.ts";
import type { ClusterDocument, NodeDocument, StorageDocument, VmDocument } from "./documents.ts";
import { type Locks, makeLocks } from "./locks.ts";
import type { RealGuests } from "./real-guests/real-guests.ts";
import type { RealImage } from "./real-guests/real-images.ts";
import { makeRrd, type Rrd } from "./rrd.ts";
import type { Runtime } from "./runtime.ts";
import { type ApiSchema, apiSchema, type ProxmoxVersion } from "./schema/api-schema.ts";
import type { Store } from "./store.ts";
import { makeTaskFaults, type TaskFaults } from "./tasks/task-faults.ts";
import type { LiveTask } from "./tasks/worker.ts";
import type { Wires } from "./wires/wires.ts";

/** The simulated cluster: state, rules and what is only in memory. It does not depend on HTTP. */
export interface Region {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly version: ProxmoxVersion;
  readonly schema: ApiSchema;
  readonly permissions: Permissions;
  readonly locks: Locks;
  readonly rrd: Rrd;
  readonly taskFaults: TaskFaults;
  /** Tasks whose worker process is alive; a task without one and without an end was killed. */
  readonly live: Map<string, LiveTask>;
  /** Worker slots in use per node daemon: three, as pvedaemon has. */
  readonly daemons: Map<string, { busy: number; readonly waiting: (() => void)[] }>;
  /** The network between the machines; null in a lab that has none. Set once, when it has been built. */
  wires: Wires | null;
  /** Systems of templates whose guests really boot. */
  readonly realImages: readonly RealImage[];
  /** Those guests; null in a lab that has none. Set once, after the network. */
  realGuests: RealGuests | null;
  /** Why there is no network, for people who try it. */
  readonly withoutWires: string;
}

export function makeRegion(
  runtime: Runtime,
  store: Store,
  version: ProxmoxVersion,
  withoutWires = "it was started without wires",
  realImages: readonly RealImage[] = [],
): Region {
  return {
    runtime,
    store,
    version,
    schema: apiSchema(version),
    permissions: makePermissions(store, version),
    locks: makeLocks(runtime),
    rrd: makeRrd(runtime, store),
    taskFaults: makeTaskFaults(),
    live: new Map(),
    wires: null,
    realImages,
    realGuests: null,
    withoutWires,
    daemons: new Map(),
  };
}

/** The VM, or the 500 that its file is not on `node`: it may be on another one. */
export function vmOn(region: Region, node: string, vmid: number | string): VmDocument {
  const vm = region.store.get("vm", String(vmid));
  if (vm === undefined || vm.node !== node) {
    throw failure(`Configuration file 'nodes/${node}/qemu-server/${vmid}.conf' does not exist`);
  }
  return vm;
}

/** The same check in check_running, which has a text of its own. */
export function runningCheck(region: Region, node: string, vmid: number | string): VmDocument {
  const vm = region.store.get("vm", String(vmid));
  if (vm === undefined || vm.node !== node) {
    throw failure(`unable to find configuration file for VM ${vmid} on node '${node}'`);
  }
  return vm;
}

export function storageOf(region: Region, name: string): StorageDocument {
  const storage = region.store.get("storage", name);
  if (storage === undefined) throw failure(`storage '${name}' does not exist`);
  return storage;
}

export function clusterOf(region: Region): ClusterDocument {
  const cluster = region.store.get("cluster", "cluster");
  if (cluster === undefined) throw new Error("the region was never seeded");
  return cluster;
}

export function nodesOf(region: Region): NodeDocument[] {
  return region.store.all("node").sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Every write to /etc/pve needs a quorum. */
export function requireQuorum(region: Region): void {
  if (!clusterOf(region).quorate) throw failure("cluster not ready - no quorum?");
}
