import type { PayloadOf } from "@kule/contract/schemas";
import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import { bootDiskOf } from "@kule/proxmox/disks";
import type { DesiredConfig, Vm } from "@kule/proxmox/hypervisor";
import { Failed } from "../../errors.ts";
import type { SeenVm } from "../existing-server.ts";
import { vmMissing } from "../vm-problems.ts";

export type ResizeStep =
  | { readonly do: "grow-disk"; readonly disk: string }
  | { readonly do: "configure" }
  | { readonly do: "shut-down"; readonly process: string | null }
  /** A paused guest cannot be asked. */
  | { readonly do: "power-off"; readonly process: string | null }
  | { readonly do: "start" };

type Payload = PayloadOf<"ServerResize">;

const GIB = 2 ** 30;

/** CPU and memory of the package, and nothing of the VM that would take some of it away again. */
export function sizeOf(payload: Payload): DesiredConfig {
  return {
    sockets: "1",
    cores: String(payload.package.vcpu),
    vcpus: null,
    cpulimit: null,
    memory: String(payload.package.memory_mb),
    balloon: "0",
  };
}

export function diskBytesOf(payload: Payload): number {
  return payload.package.disk_gb * GIB;
}

/**
 * The steps from the observed VM to the wanted size. A running VM accepts a new size without an error and
 * applies it at a cold start, so the size is written first and the guest is down only for as long as a
 * restart takes.
 */
export function planResize(payload: Payload, seen: SeenVm): readonly ResizeStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  const { vm } = seen;
  const disk = bootDiskOf(vm.config);
  if (!disk)
    throw new Failed({
      code: "vm_without_disk",
      message: "The server's virtual machine was changed outside of Kule. An operator has to look at it.",
      internal: `VM ${vm.vmid} on ${vm.node} has no disk that it boots from`,
    });
  const size = sizeOf(payload);
  const configure = !isEmptyDifference(configDifference(size, vm.config, false));
  const steps: ResizeStep[] = [];
  // The disk first: it is what can fail for lack of space, and the server then continues unchanged.
  if ((disk.bytes ?? 0) < diskBytesOf(payload)) steps.push({ do: "grow-disk", disk: disk.key });
  if (configure) steps.push({ do: "configure" });
  // A guest is restarted for a size that was seen to be written, and not for the promise of one.
  if (steps.length > 0) return steps;
  const on = vm.power !== "stopped";
  const restart = on && vm.pendingKeys.some((key) => key in size);
  if (restart) steps.push(turnOff(vm));
  if (payload.run && (!on || restart)) steps.push({ do: "start" });
  return steps;
}

function turnOff(vm: Vm): ResizeStep {
  return vm.power === "running"
    ? { do: "shut-down", process: vm.process }
    : { do: "power-off", process: vm.process };
}
