import type { LeftoverVolume } from "@kule/proxmox/hypervisor";
import type { SeenVm } from "../existing-server.ts";

export type SeenRemains =
  | Extract<SeenVm, { state: "present" }>
  /** A VM that was to be adopted and never was. It stays, without our marks. */
  | {
      readonly state: "not-ours";
      readonly marks: {
        readonly description: string;
        readonly tags: readonly string[];
        /** Our pool, when it is in that. */
        readonly pool: string | null;
      } | null;
    }
  | { readonly state: "absent"; readonly leftovers: readonly LeftoverVolume[] };

export type DestroyStep =
  | { readonly do: "leave-pool"; readonly pool: string }
  | { readonly do: "unmark"; readonly description: string; readonly tags: readonly string[] }
  | { readonly do: "unprotect" }
  | { readonly do: "power-off" }
  | { readonly do: "destroy" }
  /** A volume that the VM's deletion could not free, which Proxmox only warns of. */
  | { readonly do: "free-volumes"; readonly volumes: readonly LeftoverVolume[] };

/** Nothing to do when no node has the VM and no storage a volume of it. */
export function planDestroy(seen: SeenRemains): readonly DestroyStep[] {
  if (seen.state === "absent")
    return seen.leftovers.length > 0 ? [{ do: "free-volumes", volumes: seen.leftovers }] : [];
  if (seen.state === "not-ours") {
    if (seen.marks === null) return [];
    const { pool, ...marks } = seen.marks;
    // The marks last: without them it would not be known that the pool must be left.
    return [...(pool === null ? [] : [{ do: "leave-pool", pool } as const]), { do: "unmark", ...marks }];
  }
  const { vm } = seen;
  return [
    ...(vm.config.protection === "1" ? [{ do: "unprotect" } as const] : []),
    // The user has had the buffer's whole time to keep it: no guest is asked to shut down any more.
    ...(vm.power === "stopped" ? [] : [{ do: "power-off" } as const]),
    { do: "destroy" },
  ];
}
