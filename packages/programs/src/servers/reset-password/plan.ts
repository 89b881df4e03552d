import type { PayloadOf } from "@kule/contract/schemas";
import type { Vm } from "@kule/proxmox/hypervisor";
import { noteOf, type SeenVm } from "../existing-server.ts";
import { guestAgentUnavailable, vmMissing } from "../vm-problems.ts";

export type PasswordStep =
  | { readonly do: "tell-guest" }
  /** What the guest was given cannot be read back, so a note records that it was given. */
  | { readonly do: "note"; readonly vm: Vm }
  /** Where the guest finds it at its next start; with the note, in one call. */
  | { readonly do: "write"; readonly vm: Vm };

export function planPasswordReset(
  jobId: string,
  payload: PayloadOf<"ServerPasswordReset">,
  seen: SeenVm,
): readonly PasswordStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  const { vm } = seen;
  if (noteOf(jobId, vm) !== null) return [];
  if (payload.when === "next_boot") return [{ do: "write", vm }];
  if (vm.power !== "running") throw guestAgentUnavailable(`VM ${vm.vmid} on ${vm.node} is ${vm.power}`);
  return [{ do: "tell-guest" }, { do: "note", vm }];
}
