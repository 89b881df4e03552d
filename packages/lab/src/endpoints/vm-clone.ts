import type { Call, Handlers } from "../call.ts";
import type { VmDocument, VolumeDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { type Region, runningCheck, storageOf } from "../region.ts";
import { randomUuid } from "../runtime.ts";
import type { DocumentChange } from "../store.ts";
import { startTask, type Worker, WorkerKilled } from "../tasks/worker.ts";
import { storedDescription } from "../vm/config-file.ts";
import { withVmLock } from "../vm/config-lock.ts";
import {
  cloudInitVolumeName,
  freeDiskName,
  isCloudInit,
  newVolume,
  printDrive,
  storageName,
  withStorageLock,
} from "../vm/drives.ts";

import { temporaryVm } from "../vm/new-vm.ts";
import { type CloneRequest, parseCloneRequest, planClone } from "./clone-plan.ts";

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
    // The volume exists from here on: a worker that is killed now leaves it behind.
    worker.commit({ op: "volume-allocated", vmid: request.newid, detail: { volid, for: "clone" } }, [
      ["volume", volid, made],
    ]);
    return made;
  });
  await worker.stage("copy-data");
  if (full || cloudInit) {
    const gib = source.sizeBytes / 1024 ** 3;
    worker.log(`transferred 0.0 B of ${gib.toFixed(1)} GiB (0.00%)`);
    await worker.wait(gib * seconds.fullClonePerGib);
    worker.log(`transferred ${gib.toFixed(1)} GiB of ${gib.toFixed(1)} GiB (100.00%)`);
  }
  return volume;
}

/** The system on the source's disk: the template's own name, however often it was cloned. */
function systemOf(region: Region, source: number): string {
  const vm = region.store.get("vm", String(source));
  return vm?.guest.system ?? vm?.config.name ?? "linux";
}

async function cloneInTask(call: Call, request: CloneRequest, worker: Worker): Promise<void> {
  const { region, node } = call;
  const { newid, source } = request;
  const { config, drives, full } = planClone(call, request);
  // 8.4 logs the target on some storages only, and on these it does not.
  if (!region.version.startsWith("8")) worker.log(`creating a clone of VM ${source} with ID ${newid}`);
  config.smbios1 = `uuid=${randomUuid(region.runtime)}`;
  if (config.vmgenid !== undefined) config.vmgenid = randomUuid(region.runtime);
  delete config.template;
  config.name = request.name ?? `Copy-of-VM-${config.name ?? source}`;
  if (request.description !== undefined && request.description !== "") {
    config.description = storedDescription(request.description);
  }
  await worker.stage("temporary-config");
  if (region.store.get("vm", String(newid)) !== undefined) {
    const file = `/etc/pve/nodes/${node}/qemu-server/${newid}.conf`;
    throw new Error(`close (rename) atomic file '${file}' failed: File exists`);
  }
  worker.commit({ op: "clone-started", vmid: newid, detail: { source, name: config.name } }, [
    ["vm", String(newid), temporaryVm(node, newid)],
  ]);
  const volumes: string[] = [];
  try {
    await worker.stage("firewall-copy");
    const firewall = region.store.get("firewall", String(source));
    if (firewall !== undefined) {
      worker.commit({ op: "firewall-copied", vmid: newid, detail: { source } }, [
        ["firewall", String(newid), firewall],
      ]);
    }
    for (const [key, drive] of drives) {
      await worker.stage(`disk:${key}`);
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
    await worker.stage("unlock");
    await worker.wait(seconds.configWrite);
    const fresh = temporaryVm(node, newid);
    const done: VmDocument = {
      ...fresh,
      temporary: false,
      config,
      guest: { ...fresh.guest, system: systemOf(region, source) },
    };
    worker.commit({ op: "clone-unlocked", vmid: newid, detail: { source } }, [["vm", String(newid), done]]);
    if (request.target !== undefined) {
      await worker.stage("move");
      const target = request.target;
      worker.commit({ op: "clone-moved", vmid: newid, detail: { source, target } }, [
        ["vm", String(newid), { ...done, node: target }],
      ]);
    }
    await worker.stage("pool");
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
  const request = parseCloneRequest(call);
  const { region, node, authUser } = call;
  runningCheck(region, node, request.source);
  planClone(call, request);
  const running = (): boolean => region.store.get("vm", String(request.source))?.process !== null;
  const what = { node, type: "qmclone", id: String(request.source), user: authUser };
  return startTask(region, what, async (worker) => {
    await worker.stage("lock");
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
