import type { AdoptionSighting } from "@kule/proxmox/adoption";
import { Failed, RetryLater } from "../../errors.ts";
import { vmMissing } from "../vm-problems.ts";

export type AdoptStep =
  | { readonly do: "mark"; readonly description: string; readonly tags: readonly string[] }
  | { readonly do: "join-pool"; readonly pool: string };

export type Wanted = {
  readonly vmid: number;
  readonly name: string;
  /** The marker's line. */
  readonly marker: string;
  readonly tags: readonly string[];
  /** Null for a control plane that does not name it. */
  readonly pool: string | null;
};

/**
 * What the VM lacks to be recognisable as the server's. Only its marks and its pool are ever changed: other
 * differences from the records are reported as drift, because the VM is in use and may be running.
 */
export function planAdopt(want: Wanted, seen: AdoptionSighting): readonly AdoptStep[] {
  switch (seen.state) {
    case "absent":
      throw vmMissing(want.vmid);
    case "busy":
      throw new RetryLater({
        code: "vm_locked",
        message: "The virtual machine is busy in the region; this is tried again.",
        internal: seen.why,
      });
    case "refused":
      throw new Failed({
        code: "vm_not_importable",
        message: "The virtual machine cannot be imported. An operator has to look at it.",
        internal: `${seen.why}; nothing was changed at VMID ${want.vmid}`,
      });
    case "adoptable": {
      const { vm } = seen;
      const missing = want.tags.filter((tag) => !vm.tags.includes(tag.toLowerCase()));
      if (vm.isMarked && missing.length === 0 && vm.name === want.name)
        return want.pool === null || vm.pool === want.pool ? [] : [{ do: "join-pool", pool: want.pool }];
      const description = vm.isMarked
        ? vm.description
        : [want.marker, vm.description.trim()].filter((line) => line !== "").join("\n");
      // It joins the pool when an observation has shown its mark: a VM without our mark is never changed.
      return [{ do: "mark", description, tags: [...vm.tags, ...missing] }];
    }
  }
}
