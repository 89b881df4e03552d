import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, type Handlers, refuseRootOnly, required, text } from "../call.ts";
import { seconds } from "../durations.ts";
import { runningCheck, vmOn } from "../region.ts";
import { startTask } from "../tasks/worker.ts";
import { requireNoConfigLock, withVmLock } from "../vm/config-lock.ts";
import { referencedVolumes } from "../vm/drives.ts";
import { movedTo } from "../vm/moved-vm.ts";

function localVolumes(call: Call, config: Readonly<Record<string, string>>): string[] {
  return referencedVolumes(config).filter((volid) => {
    const volume = call.region.store.get("volume", volid);
    return volume !== undefined && volume.node !== null;
  });
}

function preconditions(call: Call): unknown {
  const vm = vmOn(call.region, call.node, required(call, "vmid"));
  return {
    running: vm.process === null ? 0 : 1,
    allowed_nodes: call.region.store
      .all("node")
      .map(({ name }) => name)
      .filter((name) => name !== call.node),
    local_disks: localVolumes(call, vm.config).map((volid) => ({ volid })),
    local_resources: [],
  };
}

function migrate(call: Call): string {
  const { region, node, authUser } = call;
  const vmid = Number(required(call, "vmid"));
  const target = required(call, "target");
  if (target === node) throw badParameters({ target: "target is local node." });
  refuseRootOnly(call, "force", "migration_type", "migration_network", "skiplock");
  if (region.store.get("node", target) === undefined) throw failure(`no such cluster node '${target}'`);
  const first = runningCheck(region, node, vmid);
  requireNoConfigLock(first);
  if (first.process !== null && !flag(call, "online")) {
    throw failure("can't migrate running VM without --online");
  }
  if (localVolumes(call, first.config).length > 0 && text(call, "with-local-disks") !== "1") {
    throw failure(`can't live migrate attached local disks without with-local-disks option`);
  }
  return startTask(region, { node, type: "qmigrate", id: String(vmid), user: authUser }, async (worker) => {
    await withVmLock(region, node, vmid, async () => {
      const vm = vmOn(region, node, vmid);
      requireNoConfigLock(vm);
      worker.commit({ op: "migration-started", vmid, detail: { target } }, [
        ["vm", String(vmid), { ...vm, config: { ...vm.config, lock: "migrate" } }],
      ]);
      await worker.stage("transfer");
      await worker.wait(seconds.migrate);
      // The config moves near the end; until then every call still goes to the old node.
      const volumes = localVolumes(call, vm.config).flatMap((volid) => {
        const volume = region.store.get("volume", volid);
        return volume === undefined ? [] : [["volume", volid, { ...volume, node: target }] as const];
      });
      worker.commit({ op: "vm-migrated", vmid, detail: { target } }, [
        ["vm", String(vmid), movedTo(target, vm)],
        ...volumes,
      ]);
    });
  });
}

export const vmMigrateHandlers: Handlers = {
  "GET /nodes/{node}/qemu/{vmid}/migrate": preconditions,
  "POST /nodes/{node}/qemu/{vmid}/migrate": migrate,
};
