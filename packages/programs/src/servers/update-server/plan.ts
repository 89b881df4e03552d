import type { PayloadOf } from "@kule/contract/schemas";
import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import type { Vm } from "@kule/proxmox/hypervisor";
import { noteOf } from "../existing-server.ts";
import { vmMissing } from "../vm-problems.ts";

export type SeenName =
  | { readonly state: "absent" }
  /** `hostName` is null when no agent in the guest answers. */
  | { readonly state: "present"; readonly vm: Vm; readonly hostName: string | null };

export type UpdateStep =
  | { readonly do: "rename" }
  /** Records when the guest refused: it applies the name at its next start. */
  | { readonly do: "tell-guest"; readonly vm: Vm };

export function planUpdate(
  jobId: string,
  payload: PayloadOf<"ServerUpdate">,
  seen: SeenName,
): readonly UpdateStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  const { vm, hostName } = seen;
  const { name } = payload.server;
  const steps: UpdateStep[] = [];
  if (!isEmptyDifference(configDifference({ name }, vm.config, false))) steps.push({ do: "rename" });
  const hasRefused = noteOf(jobId, vm)?.guest === "refused";
  const isOther = hostName !== null && hostName.split(".")[0] !== name;
  // A Windows guest applies a name only at a start.
  if (payload.os_family === "linux" && isOther && !hasRefused) steps.push({ do: "tell-guest", vm });
  return steps;
}
