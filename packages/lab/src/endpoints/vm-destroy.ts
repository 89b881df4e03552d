import { failure } from "../api-error.ts";
import { type Call, flag, type Handlers, refuseRootOnly, required, text } from "../call.ts";
import { seconds } from "../durations.ts";
import { requireQuorum, vmOn } from "../region.ts";
import { formatSize, parseSize } from "../schema/formats.ts";
import type { DocumentChange } from "../store.ts";
import { startTask, type Worker } from "../tasks/worker.ts";
import { configDigest } from "../vm/config-file.ts";
import { requireNoConfigLock, requireNoProtection, withVmLock } from "../vm/config-lock.ts";
import { isCdrom, parseDrive, printDrive, referencedVolumes, storageName } from "../vm/drives.ts";

async function freeVolume(call: Call, worker: Worker, vmid: number, volid: string): Promise<void> {
  const { region } = call;
  if (region.taskFaults.stuckVolumes.has(volid)) {
    worker.warn(
      `Could not remove disk '${volid}', check manually: rbd rm '${volid.split(":")[1]}' error: image has watchers`,
    );
    return;
  }
  await worker.wait(seconds.freeVolume);
  worker.commit({ op: "volume-freed", vmid, detail: { volid } }, [["volume", volid, null]]);
}

async function destroyInTask(call: Call, worker: Worker, vmid: number): Promise<void> {
  const { region, node, authUser } = call;
  requireQuorum(region);
  const vm = vmOn(region, node, vmid);
  requireNoConfigLock(vm);
  const isUsed = (volid: string): boolean =>
    region.store.all("volume").some(({ parent }) => parent === volid);
  const owned = [...new Set([...referencedVolumes(vm.config), ...referencedVolumes(vm.pending)])].filter(
    (volid) => region.store.get("volume", volid)?.vmid === vmid,
  );
  for (const volid of owned) {
    if (vm.config.template === "1" && isUsed(volid)) {
      throw new Error(`base volume '${volid}' is still in use by linked cloned`);
    }
  }
  worker.commit({ op: "destroy-started", vmid, detail: { name: vm.config.name ?? null } }, []);
  await worker.stage("disks");
  for (const volid of owned) await freeVolume(call, worker, vmid, volid);
  if (flag(call, "destroy-unreferenced-disks")) {
    // By name, on every storage: also what another VM of the same number left behind.
    const stray = region.store
      .all("volume")
      .filter((v) => v.vmid === vmid && v.content === "images" && !owned.includes(v.volid));
    for (const { volid } of stray) await freeVolume(call, worker, vmid, volid);
  }
  // From here on the file is a stub with "lock: destroyed".
  await worker.stage("access");
  worker.commit({ op: "config-cleared", vmid }, [
    [
      "vm",
      String(vmid),
      { ...vm, config: { lock: "destroyed" }, pending: {}, pendingDelete: {}, drive: null },
    ],
  ]);
  const changes: DocumentChange[] = [["firewall", String(vmid), null]];
  for (const acl of region.store.all("acl")) {
    if (acl.path === `/vms/${vmid}`) changes.push(["acl", `${acl.path} ${acl.ugid} ${acl.roleid}`, null]);
  }
  for (const pool of region.store.all("pool")) {
    if (pool.vms.includes(vmid))
      changes.push(["pool", pool.poolid, { ...pool, vms: pool.vms.filter((id) => id !== vmid) }]);
  }
  worker.commit({ op: "access-removed", vmid }, changes);
  if (flag(call, "purge")) worker.log(`purging VM ${vmid} from related configurations..`);
  await worker.stage("config");
  // The config goes last: as long as it is there the number is taken.
  worker.commit(
    {
      op: "vm-destroyed",
      vmid,
      user: authUser,
      detail: { name: vm.config.name ?? null, description: vm.config.description ?? null },
    },
    [["vm", String(vmid), null]],
  );
}

function destroy(call: Call): string {
  const { region, node } = call;
  const vmid = Number(required(call, "vmid"));
  refuseRootOnly(call, "skiplock");
  const check = (): void => {
    const vm = vmOn(region, node, vmid);
    requireNoProtection(vm, `can't remove VM ${vmid}`);
    if (vm.process !== null) throw failure(`VM ${vmid} is running - destroy failed`);
  };
  check();
  return startTask(
    region,
    { node, type: "qmdestroy", id: String(vmid), user: call.authUser },
    async (worker) => {
      await worker.stage("lock");
      await withVmLock(region, node, vmid, async () => {
        check();
        await destroyInTask(call, worker, vmid);
      });
    },
  );
}

function resize(call: Call): string {
  const { region, node } = call;
  const vmid = Number(required(call, "vmid"));
  const disk = required(call, "disk");
  const wanted = required(call, "size");
  const digest = text(call, "digest");
  refuseRootOnly(call, "skiplock");
  return startTask(
    region,
    { node, type: "resize", id: String(vmid), user: call.authUser },
    async (worker) => {
      await withVmLock(region, node, vmid, async () => {
        const vm = vmOn(region, node, vmid);
        if (digest !== undefined && digest !== configDigest(vm)) {
          throw failure("checksum mismatch (file change by other user?)");
        }
        requireNoConfigLock(vm);
        const value = vm.config[disk];
        if (value === undefined) throw new Error(`disk '${disk}' does not exist`);
        const drive = parseDrive(disk, value);
        if (isCdrom(drive)) throw new Error("you can't resize a cdrom");
        region.permissions.require(
          call.authUser,
          `/storage/${storageName(drive.file)}`,
          "Datastore.AllocateSpace",
        );
        const volume = region.store.get("volume", drive.file);
        if (volume === undefined)
          throw new Error(`Could not determine current size of volume '${drive.file}'`);
        const bytes = parseSize(wanted.replace(/^\+/, "")) ?? 0;
        const size = wanted.startsWith("+") ? volume.sizeBytes + bytes : bytes;
        if (size < volume.sizeBytes) throw new Error("shrinking disks is not supported");
        if (size === volume.sizeBytes) return;
        await worker.stage("resize");
        await worker.wait(seconds.resize);
        const config = { ...vm.config, [disk]: printDrive(disk, { ...drive, size: formatSize(size) }) };
        worker.commit({ op: "disk-resized", vmid, detail: { disk, bytes: size } }, [
          ["vm", String(vmid), { ...vm, config }],
          ["volume", volume.volid, { ...volume, sizeBytes: size }],
        ]);
      });
    },
  );
}

export const vmDestroyHandlers: Handlers = {
  "DELETE /nodes/{node}/qemu/{vmid}": destroy,
  "PUT /nodes/{node}/qemu/{vmid}/resize": resize,
};
