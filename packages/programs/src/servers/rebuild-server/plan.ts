import type { LeftoverVolume, Template, Vm } from "@kule/proxmox/hypervisor";
import { Failed } from "../../errors.ts";
import type { DesiredVm } from "../create-server/desired-vm.ts";
import { type CreateStep, planCreate, type SeenServer } from "../create-server/plan.ts";
import { notOurs } from "../vm-problems.ts";

export type SeenRebuild =
  /** Created by another job than this one: to be replaced. */
  | { readonly state: "former"; readonly vm: Vm; readonly template: Template | null }
  | (Extract<SeenServer, { state: "absent" }> & { readonly leftovers: readonly LeftoverVolume[] })
  | Exclude<SeenServer, { state: "absent" }>;

export type RebuildStep =
  | Exclude<CreateStep, { do: "pool" }>
  | { readonly do: "unprotect" }
  | { readonly do: "turn-off"; readonly process: string | null }
  | { readonly do: "destroy" }
  /** A volume of the former VM that its deletion could not free: the new VM has the same number. */
  | { readonly do: "free-volumes"; readonly volumes: readonly LeftoverVolume[] };

/**
 * The job in its marker, which the clone call sets, shows which of the two VMs exists: the new VM is
 * identified from the first moment on, and is never destroyed.
 */
export function planRebuild(want: DesiredVm, seen: SeenRebuild): readonly RebuildStep[] {
  switch (seen.state) {
    case "foreign":
      throw notOurs(want.vmid, seen.why);
    case "former": {
      // Before anything is destroyed it must be certain that a new VM can be created.
      if (!seen.template)
        throw new Failed({
          code: "template_missing",
          message: "The region's image does not exist. Nothing was changed. An operator has to look at it.",
          internal: `VM ${want.templateVmid} does not exist, is no template, or is hidden from the token`,
        });
      const { vm } = seen;
      return [
        // Its disk is about to be destroyed: no guest is asked to save anything to it.
        ...(vm.power === "stopped" ? [] : [{ do: "turn-off", process: vm.process } as const]),
        // At the last moment: a rebuild that is called off before it leaves the VM as protected as it was.
        ...(vm.config.protection === "1" ? [{ do: "unprotect" } as const] : []),
        { do: "destroy" },
      ];
    }
    case "absent":
      if (seen.leftovers.length > 0) return [{ do: "free-volumes", volumes: seen.leftovers }];
      return withoutPool(planCreate(want, seen));
    default:
      return withoutPool(planCreate(want, seen));
  }
}

/** The pool exists since the server was first created; the clone ensures it. */
function withoutPool(steps: readonly CreateStep[]): RebuildStep[] {
  return steps.flatMap((step) => (step.do === "pool" ? [] : [step]));
}
