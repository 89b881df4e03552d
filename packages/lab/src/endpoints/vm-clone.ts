import { badParameters, failure, permissionDenied } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import type { VmDocument, VolumeDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { type Region, requireQuorum, runningCheck, storageOf, vmOn } from "../region.ts";
import { randomUuid } from "../runtime.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import type { DocumentChange } from "../store.ts";
import { startTask, type Worker, WorkerKilled } from "../tasks/worker.ts";
import { storedDescription } from "../vm/config-file.ts";
import { requireNoConfigLock, withVmLock } from "../vm/config-lock.ts";
import {
  cloudInitVolumeName,
  freeDiskName,
  isCdrom,
  isCloudInit,
  newVolume,
  parseDrive,
  printDrive,
  storageName,
  withStorageLock,
} from "../vm/drives.ts";
import { parseNet, printNet, randomMac, requireBridgeAccess } from "../vm/networks.ts";

interface CloneRequest {
  readonly source: number;
  readonly newid: number;
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly pool: string | undefined;
  readonly storage: string | undefined;
  readonly format: string | undefined;
  readonly target: string | undefined;
  readonly full: boolean | undefined;
}

interface ClonePlan {
  readonly config: Record<string, string>;
  /** Disks to copy, in key order. */
  readonly drives: readonly (readonly [key: string, drive: Record<string, string> & { file: string }])[];
  readonly full: boolean;
}

function parseRequest(call: Call): CloneRequest {
  const target = text(call, "target");
  return {
    source: Number(required(call, "vmid")),
    newid: Number(required(call, "newid")),
    name: text(call, "name"),
    description: text(call, "description"),
    pool: text(call, "pool"),
    storage: text(call, "storage"),
    format: text(call, "format"),
    target: target === call.node || target === "localhost" ? undefined : target,
    full: call.params.full === undefined ? undefined : flag(call, "full"),
  };
}

function checkTarget(call: Call, request: CloneRequest): void {
  const { region } = call;
  const { storage, target } = request;
  if (request.pool !== undefined && region.store.get("pool", request.pool) === undefined) {
    throw permissionDenied(`pool '${request.pool}' does not exist`);
  }
  if (target !== undefined && region.store.get("node", target) === undefined) {
    throw failure(`no such cluster node '${target}'`);
  }
  if (storage === undefined) return;
  if (!storageOf(region, storage).content.includes("images")) {
    throw badParameters({ storage: `storage '${storage}' does not support vm images` });
  }
  if (target !== undefined && !storageOf(region, storage).shared) {
    throw failure(`can't clone to non-shared storage '${storage}'`);
  }
}

/** Privileges on the storages; returns whether every volume of the source is on shared storage. */
function checkStorages(call: Call, source: VmDocument, storage: string | undefined): boolean {
  let shared = true;
  for (const [key, value] of Object.entries(source.config)) {
    if (!isDriveKey(key)) continue;
    const drive = parseDrive(key, value);
    if (drive.file === "none" || drive.file === "cdrom") continue;
    if (!storageOf(call.region, storageName(drive.file)).shared) shared = false;
    if (!isCdrom(drive)) {
      const target = storage ?? storageName(drive.file);
      call.region.permissions.require(call.authUser, `/storage/${target}`, "Datastore.AllocateSpace");
    }
  }
  return shared;
}

/** Runs before the fork and again in the task: what it throws is an HTTP error the first time. */
function loadAndCheck(call: Call, request: CloneRequest): ClonePlan {
  const { region, authUser } = call;
  checkTarget(call, request);
  requireQuorum(region);
  const source = vmOn(region, call.node, request.source);
  requireNoConfigLock(source);
  if (text(call, "snapname") !== undefined)
    throw failure(`snapshot '${text(call, "snapname")}' does not exist`);
  const full = request.full ?? source.config.template !== "1";
  if (request.storage !== undefined && !full)
    throw failure("parameter 'storage' not allowed for linked clones");
  if (request.format !== undefined && !full)
    throw failure("parameter 'format' not allowed for linked clones");
  const shared = checkStorages(call, source, request.storage);
  requireBridgeAccess(region, authUser, source.config);
  const custom = /(?:^|cputype=)custom-([^,]+)/.exec(source.config.cpu ?? "")?.[1];
  if (custom !== undefined && region.version === "9.2") {
    region.permissions.require(authUser, `/mapping/cpu-model/${custom}`, "Mapping.Use");
  }
  if (request.target !== undefined && !shared) {
    throw failure(`can't clone VM to node '${request.target}' (VM uses local storage)`);
  }
  // Only this node's directory is looked at here; the cluster file system notices the others.
  if (region.store.get("vm", String(request.newid))?.node === call.node) {
    throw failure(`unable to create VM ${request.newid}: config file already exists`);
  }
  const config: Record<string, string> = {};
  const drives: (readonly [string, Record<string, string> & { file: string }])[] = [];
  for (const key of Object.keys(source.config).sort()) {
    const value = source.config[key] ?? "";
    if (/^unused\d+$/.test(key) || ["lock", "parent", "vmstate", "snaptime"].includes(key)) continue;
    if (/^net\d+$/.test(key)) {
      config[key] = printNet({ ...parseNet(value), macaddr: randomMac(region.runtime) });
    } else if (!isDriveKey(key)) {
      config[key] = value;
    } else {
      const drive = parseDrive(key, value);
      if (isCdrom(drive) && !isCloudInit(drive)) {
        config[key] = value;
      } else {
        const linkable = isCloudInit(drive) || full || /[:/]base-\d+-disk/.test(drive.file);
        if (!linkable) throw failure(`Linked clone feature is not supported for '${drive.file}' (${key})`);
        drives.push([key, drive]);
      }
    }
  }
  return { config, drives, full };
}

/** Copies one disk under the target storage's lock and returns its volume. */
async function copyDisk(
  call: Call,
  request: CloneRequest,
  worker: Worker,
  key: string,
  drive: Record<string, string> & { file: string },
  full: boolean,
): Promise<VolumeDocument> {
  const { region, node } = call;
  const source = region.store.get("volume", drive.file);
  if (source === undefined) throw new Error(`volume '${drive.file}' does not exist`);
  const cloudInit = isCloudInit(drive);
  const storage = request.storage ?? storageName(drive.file);
  worker.log(
    full || cloudInit
      ? `create full clone of drive ${key} (${drive.file})`
      : `create linked clone of drive ${key} (${drive.file})`,
  );
  const volume = await withStorageLock(region, node, storage, async () => {
    await worker.wait(full || cloudInit ? seconds.allocateVolume : seconds.linkedClone);
    const format = storageOf(region, storage).type === "rbd" ? "raw" : (request.format ?? "qcow2");
    const volid = cloudInit
      ? `${storage}:${cloudInitVolumeName(region, storage, request.newid)}`
      : freeDiskName(region, storage, request.newid, format).volid;
    if (region.store.get("volume", volid) !== undefined) {
      throw new Error(
        `rbd create '${volid.slice(storage.length + 1)}' error: rbd: create error: (17) File exists`,
      );
    }
    const parent = full || cloudInit ? null : drive.file;
    const made = newVolume(region, node, volid, request.newid, source.sizeBytes, format, parent);
    // The volume exists from here on: a worker that dies now leaves it behind.
    worker.commit({ op: "volume-allocated", vmid: request.newid, detail: { volid, for: "clone" } }, [
      ["volume", volid, made],
    ]);
    return made;
  });
  worker.stage("copy-data");
  if (full || cloudInit) {
    const gib = source.sizeBytes / 1024 ** 3;
    worker.log(`transferred 0.0 B of ${gib.toFixed(1)} GiB (0.00%)`);
    await worker.wait(gib * seconds.fullClonePerGib);
    worker.log(`transferred ${gib.toFixed(1)} GiB of ${gib.toFixed(1)} GiB (100.00%)`);
  }
  return volume;
}

function temporaryVm(node: string, vmid: number): VmDocument {
  return {
    vmid,
    node,
    temporary: true,
    config: { lock: "clone" },
    pending: {},
    pendingDelete: {},
    cloudInitChanges: {},
    process: null,
    drive: null,
    guest: { bootedInstanceId: null, firstBoots: 0, passwords: {} },
  };
}

async function cloneInTask(call: Call, request: CloneRequest, worker: Worker): Promise<void> {
  const { region, node } = call;
  const { newid, source } = request;
  const { config, drives, full } = loadAndCheck(call, request);
  worker.log(`creating a clone of VM ${source} with ID ${newid}`);
  config.smbios1 = `uuid=${randomUuid(region.runtime)}`;
  if (config.vmgenid !== undefined) config.vmgenid = randomUuid(region.runtime);
  delete config.template;
  config.name = request.name ?? `Copy-of-VM-${config.name ?? source}`;
  if (request.description !== undefined && request.description !== "") {
    config.description = storedDescription(request.description);
  }
  worker.stage("temporary-config");
  if (region.store.get("vm", String(newid)) !== undefined) {
    const file = `/etc/pve/nodes/${node}/qemu-server/${newid}.conf`;
    throw new Error(`close (rename) atomic file '${file}' failed: File exists`);
  }
  worker.commit({ op: "clone-started", vmid: newid, detail: { source, name: config.name } }, [
    ["vm", String(newid), temporaryVm(node, newid)],
  ]);
  const volumes: string[] = [];
  try {
    worker.stage("firewall-copy");
    const firewall = region.store.get("firewall", String(source));
    if (firewall !== undefined) {
      worker.commit({ op: "firewall-copied", vmid: newid, detail: { source } }, [
        ["firewall", String(newid), firewall],
      ]);
    }
    for (const [key, drive] of drives) {
      worker.stage(`disk:${key}`);
      const volume = await copyDisk(call, request, worker, key, drive, full);
      volumes.push(volume.volid);
      const { format: _format, ...rest } = drive;
      config[key] = printDrive(key, { ...rest, file: volume.volid });
      worker.commit({ op: "clone-disk", vmid: newid, detail: { source, key, volid: volume.volid } }, [
        [
          "vm",
          String(newid),
          { ...temporaryVm(node, newid), temporary: false, config: { ...config, lock: "clone" } },
        ],
      ]);
    }
    worker.stage("unlock");
    await worker.wait(seconds.configWrite);
    const done: VmDocument = { ...temporaryVm(node, newid), temporary: false, config };
    worker.commit({ op: "clone-unlocked", vmid: newid, detail: { source } }, [["vm", String(newid), done]]);
    if (request.target !== undefined) {
      worker.stage("move");
      const target = request.target;
      worker.commit({ op: "clone-moved", vmid: newid, detail: { source, target } }, [
        ["vm", String(newid), { ...done, node: target }],
      ]);
    }
    worker.stage("pool");
    await worker.wait(0);
    const pool = request.pool === undefined ? undefined : region.store.get("pool", request.pool);
    if (request.pool !== undefined && pool === undefined)
      throw new Error(`pool '${request.pool}' does not exist`);
    const changes: DocumentChange[] =
      pool === undefined ? [] : [["pool", pool.poolid, { ...pool, vms: [...pool.vms, newid] }]];
    worker.commit(
      {
        op: "clone-finished",
        vmid: newid,
        detail: {
          source,
          name: config.name,
          description: config.description ?? null,
          pool: pool?.poolid ?? null,
        },
      },
      changes,
    );
  } catch (error) {
    if (error instanceof WorkerKilled) throw error;
    await worker.wait(1);
    worker.commit({ op: "clone-rolled-back", vmid: newid, detail: { source } }, [
      ...volumes.map((volid): DocumentChange => ["volume", volid, null]),
      ["firewall", String(newid), null],
      ["vm", String(newid), null],
    ]);
    throw new Error(`clone failed: ${error instanceof Error ? error.message.trimEnd() : String(error)}`);
  }
}

async function clone(call: Call): Promise<string> {
  const request = parseRequest(call);
  const { region, node, authUser } = call;
  runningCheck(region, node, request.source);
  loadAndCheck(call, request);
  const running = (): boolean => region.store.get("vm", String(request.source))?.process !== null;
  const what = { node, type: "qmclone", id: String(request.source), user: authUser };
  return startTask(region, what, async (worker) => {
    worker.stage("lock");
    const mode = running() ? "exclusive" : "shared";
    await withVmLock(
      region,
      node,
      request.source,
      () =>
        withVmLock(region, node, request.newid, () => cloneInTask(call, request, worker), {
          timeoutSeconds: 1,
        }),
      { mode, timeoutSeconds: 1 },
    );
  });
}

export const vmCloneHandlers: Handlers = {
  "POST /nodes/{node}/qemu/{vmid}/clone": clone,
};

/** Used by drift: what a stranger's VM looks like. */
export function bareVm(
  region: Region,
  node: string,
  vmid: number,
  config: Record<string, string>,
): VmDocument {
  return {
    ...temporaryVm(node, vmid),
    temporary: false,
    config: { smbios1: `uuid=${randomUuid(region.runtime)}`, ...config },
  };
}
