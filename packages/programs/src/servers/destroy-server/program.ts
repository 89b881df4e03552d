// ServerDestroy: the VM and its disks are gone, and only if they were the server's.

import { ProxmoxForbidden } from "@kule/proxmox/errors";
import type { Program } from "../../program.ts";
import { observeExisting, ownerOf, wasNeverOurs } from "../existing-server.ts";
import { volumesLeft } from "../vm-problems.ts";
import { type DestroyStep, planDestroy, type SeenRemains } from "./plan.ts";

export const destroyServer: Program<"ServerDestroy", SeenRemains, DestroyStep> = {
  kind: "ServerDestroy",
  irreversible: new Set(["destroy", "free-volumes"]),

  async observe(job, world, effect) {
    const seen = await observeExisting(job, world, effect);
    if (seen.state === "present") return seen;
    // Volumes of its number are the stranger's as much as the VM is.
    if (wasNeverOurs(job)) return { state: "absent", leftovers: [] };
    return {
      state: "absent",
      leftovers: await world.hypervisor.leftoverVolumes(job.payload.vmid, effect.signal),
    };
  },

  plan: (_, seen) => planDestroy(seen),

  apply: {
    unprotect: (_, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: { protection: null, onboot: null }, rewriteSecrets: false },
        effect,
      ),
    "power-off": (_, job, world, effect) =>
      world.hypervisor.stop(job.payload.vmid, ownerOf(job, world), effect),
    destroy: (_, job, world, effect) =>
      world.hypervisor.destroy(job.payload.vmid, ownerOf(job, world), effect),
    "free-volumes": async ({ volumes }, job, world, effect) => {
      try {
        for (const volume of volumes) await world.hypervisor.freeVolume(job.payload.vmid, volume, effect);
      } catch (error) {
        if (!(error instanceof ProxmoxForbidden)) throw error;
        throw volumesLeft(volumes, error);
      }
    },
  },

  observed: ({ payload }) => ({ power_state: "off", vmid: payload.vmid }),
};
