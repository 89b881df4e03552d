// ServerDestroy: the VM and its disks are gone, and only if they were the server's.

import type { PayloadOf } from "@kule/contract/schemas";
import { ProxmoxForbidden } from "@kule/proxmox/errors";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { withoutMarker } from "@kule/proxmox/marker";
import { RetryLater } from "../../errors.ts";
import type { Job, Program, World } from "../../program.ts";
import { poolOf } from "../create-server/desired-vm.ts";
import { observeExisting, ownerOf, wasNeverOurs } from "../existing-server.ts";
import { volumesLeft } from "../vm-problems.ts";
import { type DestroyStep, planDestroy, type SeenRemains } from "./plan.ts";

export const destroyServer: Program<"ServerDestroy", SeenRemains, DestroyStep> = {
  kind: "ServerDestroy",
  irreversible: new Set(["destroy", "free-volumes"]),

  async observe(job, world, effect) {
    // Volumes of its number are the stranger's as much as the VM is.
    if (wasNeverOurs(job)) return lookForMarks(job, world, effect);
    const seen = await observeExisting(job, world, effect);
    if (seen.state === "present") return seen;
    const leftovers = await world.hypervisor.leftoverVolumes(job.payload.vmid, effect.signal);
    if (leftovers.length === 0) return { state: "absent", leftovers };
    // A clone that was requested long before may have arrived in the meantime: then they are no leftovers.
    const again = await observeExisting(job, world, effect);
    return again.state === "present" ? again : { state: "absent", leftovers };
  },

  plan: (_, seen) => planDestroy(seen),

  apply: {
    "leave-pool": ({ pool }, job, world, effect) =>
      world.hypervisor.leavePool(job.payload.vmid, ownerOf(job, world), pool, effect),
    unmark: ({ description, tags }, job, world, effect) =>
      world.hypervisor.unmark(job.payload.vmid, ownerOf(job, world), { description, tags }, effect),
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

/**
 * The marks that a cancelled import has left on the VM: they would mark it as an unknown server's forever.
 */
async function lookForMarks(
  job: Job<PayloadOf<"ServerDestroy">>,
  world: World,
  effect: EffectContext,
): Promise<SeenRemains> {
  const { server, vmid } = job.payload;
  const seen = await world.hypervisor.findForAdoption(vmid, ownerOf(job, world), effect.signal);
  if (seen.state === "busy")
    throw new RetryLater({
      code: "vm_locked",
      message: "The virtual machine is busy in the region; this is tried again.",
      internal: seen.why,
    });
  if (seen.state !== "adoptable" || !seen.vm.isMarked) return { state: "not-ours", marks: null };
  const pool = poolOf(world.settings, `kule-${server.organisation_id}`);
  const ours = ["kule", server.organisation_id, server.id].map((tag) => tag.toLowerCase());
  return {
    state: "not-ours",
    marks: {
      description: withoutMarker(seen.vm.description, server.id),
      tags: seen.vm.tags.filter((tag) => !ours.includes(tag)),
      pool: seen.vm.pool === pool ? pool : null,
    },
  };
}
