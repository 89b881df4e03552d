import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import { bootDiskOf } from "@kule/proxmox/disks";
import type { Template, Vm } from "@kule/proxmox/hypervisor";
import { sameTags } from "@kule/proxmox/tags";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import { Failed } from "../../errors.ts";
import { firewallDiffers } from "../../firewalls/firewall-differs.ts";
import { noteOf } from "../existing-server.ts";
import { quarantined, vmidTaken } from "../vm-problems.ts";
import type { DesiredVm } from "./desired-vm.ts";

export type SeenServer =
  | { readonly state: "absent"; readonly poolExists: boolean; readonly template: Template | null }
  | { readonly state: "stale"; readonly node: string; readonly lock: string }
  | { readonly state: "foreign"; readonly node: string | null; readonly why: string }
  | { readonly state: "present"; readonly vm: Vm; readonly firewall: SeenFirewall };

export type CreateStep =
  | { readonly do: "pool" }
  | { readonly do: "clone"; readonly template: Template }
  /**
   * It was started before it was complete: the server is not in use yet, so it is corrected, then started
   * again.
   */
  | { readonly do: "power-off" }
  | { readonly do: "resize"; readonly disk: string }
  | { readonly do: "firewall" }
  | { readonly do: "configure"; readonly rewriteSecrets: boolean }
  | { readonly do: "start" }
  | { readonly do: "set-password" }
  /** What the guest was given cannot be read back, so a note records that it was given. */
  | { readonly do: "note"; readonly vm: Vm };

/** In the job's note on the VM. */
export const PASSWORD_IS_SET = { password: "set" } as const;

/** The steps from the observed VM to the wanted one, in their order. */
export function planCreate(want: DesiredVm, seen: SeenServer): readonly CreateStep[] {
  switch (seen.state) {
    case "stale":
      throw quarantined(want.vmid, seen.node);
    case "foreign":
      throw vmidTaken(want.vmid, seen.why);
    case "absent":
      if (!seen.template)
        throw new Failed({
          code: "template_missing",
          message: "The region's image does not exist. An operator has to look at it.",
          internal: `VM ${want.templateVmid} does not exist, is no template, or is hidden from the token`,
        });
      // What a clone inherits is known only when it exists: the rest is planned after the next observation.
      return [
        ...(seen.poolExists ? [] : [{ do: "pool" } as const]),
        { do: "clone", template: seen.template },
      ];
    case "present":
      return completion(want, seen.vm, seen.firewall);
  }
}

/**
 * The tags are set in the same call as everything else, the password included, which cannot be read back. So
 * our tags on the VM prove that the call has been made.
 */
function completion(want: DesiredVm, vm: Vm, firewall: SeenFirewall): CreateStep[] {
  const rewriteSecrets = !sameTags(vm.tags, want.tags) || vm.pendingKeys.includes("cipassword");
  const configure = !isEmptyDifference(configDifference(want.config, vm.config, rewriteSecrets));
  const disk = bootDiskOf(vm.config);
  if (!disk)
    throw new Failed({
      code: "template_broken",
      message: "The region's image cannot be used. An operator has to look at it.",
      internal: `template ${want.templateVmid} has no boot disk: set its boot order`,
    });
  const steps: CreateStep[] = [];
  const on = vm.power !== "stopped";
  if (on && (configure || vm.pendingKeys.length > 0)) steps.push({ do: "power-off" });
  if ((disk.bytes ?? 0) < want.diskBytes) steps.push({ do: "resize", disk: disk.key });
  if (firewallDiffers(want.filtered, want.firewall, firewall)) steps.push({ do: "firewall" });
  if (configure) steps.push({ do: "configure", rewriteSecrets });
  if (want.running && (vm.power !== "running" || steps.some((step) => step.do === "power-off")))
    steps.push({ do: "start" });
  if (want.guestUser !== null && noteOf(want.jobId, vm)?.password !== PASSWORD_IS_SET.password)
    steps.push({ do: "set-password" }, { do: "note", vm });
  return steps;
}
