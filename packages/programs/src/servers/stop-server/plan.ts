import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import type { DesiredConfig, Vm } from "@kule/proxmox/hypervisor";
import { renderTags } from "@kule/proxmox/tags";
import { REMOVING_TAG, type SeenVm } from "../existing-server.ts";

export type StopStep =
  | { readonly do: "protect"; readonly config: DesiredConfig }
  | { readonly do: "shut-down" }
  | { readonly do: "power-off" };

/**
 * The config of a VM in the removal buffer: it does not start with its node, and is protected from accidental
 * deletion, as always.
 */
function bufferedConfig(vm: Vm): DesiredConfig {
  return { onboot: null, protection: "1", tags: renderTags([...vm.tags, REMOVING_TAG]) };
}

/** A server without a VM, since its creation never got that far, has nothing to stop. */
export function planStop(seen: SeenVm): readonly StopStep[] {
  if (seen.state === "absent") return [];
  const { vm } = seen;
  const steps: StopStep[] = [];
  const config = bufferedConfig(vm);
  if (!isEmptyDifference(configDifference(config, vm.config, false))) steps.push({ do: "protect", config });
  if (vm.power === "running") steps.push({ do: "shut-down" });
  // A paused guest cannot be asked.
  if (vm.power === "paused") steps.push({ do: "power-off" });
  return steps;
}
