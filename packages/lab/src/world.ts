import { failure } from "./api-error.ts";
import { restartFromInside } from "./console/guest-power.ts";
import type { VmDocument } from "./documents.ts";
import { clusterOf, type Region } from "./region.ts";
import type { DocumentChange } from "./store.ts";
import { applyPendingCold, generateCloudInit } from "./vm/apply-pending.ts";
import { draftChanges, openDraft } from "./vm/config-draft.ts";
import { referencedVolumes, withStorageLock } from "./vm/drives.ts";
import { bootGuest } from "./vm/guest-network.ts";
import { movedTo } from "./vm/moved-vm.ts";
import { bareVm } from "./vm/new-vm.ts";

const CALLS = [
  "nodeDown",
  "nodeUp",
  "loseQuorum",
  "regainQuorum",
  "editConfig",
  "touchConfig",
  "leavePool",
  "setFirewallOption",
  "migrateVm",
  "stealVmid",
  "deleteVm",
  "setPower",
  "restartGuest",
  "unlock",
  "leaveVolume",
  "setNode",
  "setStorage",
] as const;

/** Calls the world by name, as the control server and faults do. Throws when there is no such call. */
export function callWorld(world: World, name: string, args: readonly unknown[]): unknown {
  const known = CALLS.find((call) => call === name);
  if (known === undefined) throw new Error(`"do" is one of ${CALLS.join(", ")}`);
  return (world[known] as (...given: readonly unknown[]) => unknown)(...args) ?? null;
}

/** The user of the changes that no driver requested. */
const SOMEONE = "admin@pam";

/**
 * Events in a cluster without an API request: broken nodes, lost quorum, and people who edit, move and
 * delete.
 */
export interface World {
  nodeDown(node: string): void;
  nodeUp(node: string): void;
  /** Changes a node's hardware, or puts it into maintenance. */
  setNode(
    node: string,
    change: { readonly cores?: number; readonly memoryBytes?: number; readonly maintenance?: boolean },
  ): void;
  /** Changes a storage's size. */
  setStorage(storage: string, totalBytes: number): void;
  loseQuorum(): void;
  regainQuorum(): void;
  /** Edits a VM's config as the web interface would: `set` and `delete` apply at once. */
  editConfig(vmid: number, set: Readonly<Record<string, string>>, remove?: readonly string[]): void;
  /** Changes nothing that matters, but the digest. */
  touchConfig(vmid: number): void;
  /** Removes a VM from its pool. */
  leavePool(vmid: number): void;
  /** Changes an option of a VM's firewall, as the web interface would. */
  setFirewallOption(vmid: number, name: string, value: string): void;
  migrateVm(vmid: number, node: string): void;
  /** Puts a stranger's VM under this id. */
  stealVmid(vmid: number, node?: string): void;
  /** Restores a VM from somebody's backup: a stopped one with this config, and on its disk the system of a template. */
  restoreVm(vmid: number, system: string, config: Readonly<Record<string, string>>): void;
  deleteVm(vmid: number): void;
  /** Powers a VM on or off from outside. */
  setPower(vmid: number, running: boolean): void;
  /** The guest restarts itself, as a logged-in user may request. */
  restartGuest(vmid: number): void;
  /** `qm unlock` on the node: removes a stale lock. */
  unlock(vmid: number): void;
  /** Holds a storage's lock until the returned function is called. */
  holdStorageLock(storage: string, node?: string): () => void;
  /** Revokes the agent's grant on /vms and grants it this pool, which is created: the scope trap. */
  restrictAgentToPool(poolid: string): void;
  /** Creates a volume that no VM references. */
  leaveVolume(storage: string, vmid: number): string;
}

export function makeWorld(region: Region): World {
  const { store, runtime } = region;
  const vmOf = (vmid: number): VmDocument => {
    const vm = store.get("vm", String(vmid));
    if (vm === undefined) throw failure(`there is no VM ${vmid}`);
    return vm;
  };
  const put = (op: string, vm: VmDocument, detail: Record<string, unknown> = {}): void => {
    store.commit({ op, node: vm.node, vmid: vm.vmid, user: SOMEONE, detail }, [["vm", String(vm.vmid), vm]]);
  };
  const withoutVm = (vmid: number): DocumentChange[] =>
    store
      .all("pool")
      .filter(({ vms }) => vms.includes(vmid))
      .map((pool) => ["pool", pool.poolid, { ...pool, vms: pool.vms.filter((id) => id !== vmid) }]);
  const setOnline = (name: string, online: boolean): void => {
    const node = store.get("node", name);
    if (node === undefined) throw failure(`there is no node ${name}`);
    const changes: DocumentChange[] = [["node", name, { ...node, online }]];
    const guests: number[] = [];
    if (!online) {
      // Workers and guests of a node that loses power are gone; locks in files stay.
      for (const task of region.live.values()) if (task.upid.startsWith(`UPID:${name}:`)) task.kill();
      for (const vm of store.all("vm")) {
        if (vm.node === name && vm.process !== null) {
          changes.push(["vm", String(vm.vmid), { ...vm, process: null }]);
          guests.push(vm.vmid);
        }
      }
    }
    const entry = online ? { op: "world-node-up" } : { op: "world-node-down", detail: { guests } };
    store.commit({ ...entry, node: name, user: SOMEONE }, changes);
  };
  const setQuorum = (quorate: boolean): void => {
    store.commit({ op: quorate ? "world-quorum-regained" : "world-quorum-lost", user: SOMEONE }, [
      ["cluster", "cluster", { ...clusterOf(region), quorate }],
    ]);
  };
  return {
    nodeDown: (node) => setOnline(node, false),
    nodeUp: (node) => setOnline(node, true),
    setNode: (name, change) => {
      const node = store.get("node", name);
      if (node === undefined) throw failure(`there is no node ${name}`);
      store.commit({ op: "world-node-changed", node: name, user: SOMEONE, detail: { ...change } }, [
        ["node", name, { ...node, ...change }],
      ]);
    },
    setStorage: (name, totalBytes) => {
      const storage = store.get("storage", name);
      if (storage === undefined) throw failure(`there is no storage ${name}`);
      store.commit({ op: "world-storage-changed", user: SOMEONE, detail: { storage: name, totalBytes } }, [
        ["storage", name, { ...storage, totalBytes }],
      ]);
    },
    loseQuorum: () => setQuorum(false),
    regainQuorum: () => setQuorum(true),
    editConfig: (vmid, set, remove = []) => {
      const vm = vmOf(vmid);
      const config = { ...vm.config, ...set };
      for (const key of remove) delete config[key];
      put("world-config-edited", { ...vm, config }, { set, remove });
    },
    touchConfig: (vmid) => {
      const vm = vmOf(vmid);
      const count = Number(vm.config.migrate_speed ?? 0) + 1;
      put("world-config-touched", { ...vm, config: { ...vm.config, migrate_speed: String(count) } });
    },
    migrateVm: (vmid, node) => put("world-vm-migrated", movedTo(node, vmOf(vmid)), { node }),
    stealVmid: (vmid, node = "pve1") => {
      if (store.get("vm", String(vmid)) !== undefined) throw failure(`VM ${vmid} already exists`);
      const config = { name: `stranger-${vmid}`, memory: "2048", cores: "2", ostype: "l26" };
      put("world-vmid-stolen", bareVm(region, node, vmid, config));
    },
    restoreVm: (vmid, system, config) => {
      if (store.get("vm", String(vmid)) !== undefined) throw failure(`VM ${vmid} already exists`);
      const vm = bareVm(region, "pve1", vmid, { name: `restored-${vmid}`, ostype: "l26", ...config });
      put("world-vm-restored", { ...vm, guest: { ...vm.guest, system } });
    },
    deleteVm: (vmid) => {
      const vm = vmOf(vmid);
      store.commit({ op: "world-vm-deleted", node: vm.node, vmid, user: SOMEONE }, [
        ["vm", String(vmid), null],
        ["firewall", String(vmid), null],
        ...referencedVolumes(vm.config)
          .filter((volid) => store.get("volume", volid)?.vmid === vmid)
          .map((volid): DocumentChange => ["volume", volid, null]),
        ...withoutVm(vmid),
      ]);
    },
    leavePool: (vmid) => store.commit({ op: "world-pool-left", vmid, user: SOMEONE }, withoutVm(vmid)),
    setFirewallOption: (vmid, name, value) => {
      const file = store.get("firewall", String(vmid));
      if (file === undefined) throw failure(`VM ${vmid} has no firewall`);
      store.commit({ op: "world-firewall-edited", vmid, user: SOMEONE, detail: { name, value } }, [
        ["firewall", String(vmid), { ...file, options: { ...file.options, [name]: value } }],
      ]);
    },
    setPower: (vmid, running) => {
      if (!running) return put("world-powered-off", { ...vmOf(vmid), process: null });
      // As a start through the API does: pending changes are applied, and the guest boots from a newly
      // written drive.
      const draft = openDraft(vmOf(vmid));
      applyPendingCold(region, draft);
      generateCloudInit(draft);
      store.commit({ op: "world-config-applied", vmid, user: SOMEONE }, draftChanges(draft));
      const now = runtime.nowMs();
      const pid = 1000 + Math.floor(runtime.random() * 4_000_000);
      const process = { pid, startedAt: now, paused: false, guestBootAt: now };
      put("world-powered-on", bootGuest({ ...vmOf(vmid), process }));
    },
    restartGuest: (vmid) => restartFromInside(region, vmid),
    unlock: (vmid) => {
      const vm = vmOf(vmid);
      const { lock, ...config } = vm.config;
      put("world-unlocked", { ...vm, temporary: false, config }, { lock });
    },
    holdStorageLock: (storage, node = "pve1") => {
      let release: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      withStorageLock(region, node, storage, () => released).catch(() => undefined);
      return release;
    },
    restrictAgentToPool: (poolid) => {
      const changes: DocumentChange[] = [["pool", poolid, { poolid, comment: null, vms: [], storages: [] }]];
      for (const acl of store.all("acl")) {
        if (acl.path !== "/vms") continue;
        changes.push(["acl", `${acl.path} ${acl.ugid} ${acl.roleid}`, null]);
        for (const path of [`/pool/${poolid}`, "/vms/9000"]) {
          changes.push(["acl", `${path} ${acl.ugid} ${acl.roleid}`, { ...acl, path }]);
        }
      }
      store.commit({ op: "world-agent-restricted", user: SOMEONE, detail: { poolid } }, changes);
    },
    leaveVolume: (storage, vmid) => {
      const volid = `${storage}:vm-${vmid}-disk-99`;
      const shared = store.get("storage", storage)?.shared === true;
      store.commit({ op: "world-volume-left", vmid, user: SOMEONE, detail: { volid } }, [
        [
          "volume",
          volid,
          {
            volid,
            storage,
            name: `vm-${vmid}-disk-99`,
            vmid,
            sizeBytes: 1024 ** 3,
            format: "raw",
            content: "images",
            node: shared ? null : "pve1",
            parent: null,
            createdAt: Math.floor(runtime.nowMs() / 1000),
          },
        ],
      ]);
      return volid;
    },
  };
}
