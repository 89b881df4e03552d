import type { PayloadOf } from "@kule/contract/schemas";
import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import type { DesiredConfig } from "@kule/proxmox/hypervisor";
import { keptConfig, type SeenVm } from "../existing-server.ts";
import { isComplete, requireComplete, vmMissing } from "../vm-problems.ts";

export type RestoreStep =
  | { readonly do: "unmark"; readonly config: DesiredConfig }
  | { readonly do: "start" };

/**
 * Throws Failed when there is no VM left to restore, or only half of one. That half is kept as well, so it loses the mark
 * of the removal first.
 */
export function planRestore(payload: PayloadOf<"ServerRestore">, seen: SeenVm): readonly RestoreStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  const { vm } = seen;
  const config = keptConfig(payload, vm);
  const unmark: RestoreStep[] = isEmptyDifference(configDifference(config, vm.config, false))
    ? []
    : [{ do: "unmark", config }];
  if (!isComplete(payload, vm) && unmark.length > 0) return unmark;
  requireComplete(payload, vm);
  return payload.start && vm.power === "stopped" ? [...unmark, { do: "start" }] : unmark;
}
