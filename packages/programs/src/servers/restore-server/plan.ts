import type { PayloadOf } from "@kule/contract/schemas";
import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import type { DesiredConfig, Vm } from "@kule/proxmox/hypervisor";
import { renderTags } from "@kule/proxmox/tags";
import { REMOVING_TAG, type SeenVm } from "../existing-server.ts";
import { requireComplete, vmMissing } from "../vm-problems.ts";

export type RestoreStep =
  | { readonly do: "unmark"; readonly config: DesiredConfig }
  | { readonly do: "start" };

/** How a VM stands that is kept: what the removal buffer changed is undone, but for the protection, which all have. */
function restoredConfig(vm: Vm): DesiredConfig {
  return { onboot: "1", protection: "1", tags: renderTags(vm.tags.filter((tag) => tag !== REMOVING_TAG)) };
}

/** Throws Failed when there is no VM left to restore, or only half of one. */
export function planRestore(payload: PayloadOf<"ServerRestore">, seen: SeenVm): readonly RestoreStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  const { vm } = seen;
  requireComplete(payload, vm);
  const steps: RestoreStep[] = [];
  const config = restoredConfig(vm);
  if (!isEmptyDifference(configDifference(config, vm.config, false))) steps.push({ do: "unmark", config });
  if (payload.start && vm.power === "stopped") steps.push({ do: "start" });
  return steps;
}
