// ServerCreate: a VM of the size its owner bought, with the addresses chosen for it, running.

import type { PayloadOf } from "@kule/contract/schemas";
import { bootDiskOf } from "@kule/proxmox/disks";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { waitForFirewall } from "../../firewalls/firewall-round.ts";
import type { Job, Program, World } from "../../program.ts";
import { noteOnVm } from "../existing-server.ts";
import { type GuestAgentTimeout, setGuestPassword } from "../guest-password.ts";
import { settledSighting } from "../settled-sighting.ts";
import { desiredVm } from "./desired-vm.ts";
import { type CreateStep, PASSWORD_IS_SET, planCreate, type SeenServer } from "./plan.ts";

/** The first boot of a Windows, with its restarts, takes ten minutes and more before its agent answers. */
export const FIRST_BOOT_TIMEOUT: GuestAgentTimeout = {
  limitMilliseconds: 20 * 60_000,
  pauseMilliseconds: 10_000,
};

export const createServer: Program<"ServerCreate", SeenServer, CreateStep> = {
  kind: "ServerCreate",
  interruptible: new Set(["set-password"]),
  idle: new Set(["set-password"]),

  async observe(job, world, effect) {
    const want = desiredVm(job, world);
    const { hypervisor } = world;
    const sighting = await settledSighting(world, want.vmid, want.owner, want.templateVmid, effect);
    if (sighting.state === "absent") {
      const [template, poolExists] = await Promise.all([
        hypervisor.findTemplate(want.templateVmid, effect.signal),
        hypervisor.poolExists(want.pool, effect.signal),
      ]);
      return { state: "absent", template, poolExists };
    }
    if (sighting.state !== "present") return sighting;
    return { ...sighting, firewall: await hypervisor.readFirewall(sighting.vm, effect.signal) };
  },

  plan: (job, seen, world) => planCreate(desiredVm(job, world), seen),

  apply: {
    pool: (_, job, world, effect) =>
      world.hypervisor.ensurePool(
        desiredVm(job, world).pool,
        `Servers of ${job.payload.server.organisation_id}`,
        effect,
      ),
    clone: ({ template }, job, world, effect) => {
      const { vmid, name, description, pool, targetNode } = desiredVm(job, world);
      const { diskStorage, fullClone } = world.settings;
      return world.hypervisor.clone(
        {
          template,
          vmid,
          name,
          description,
          pool,
          storage: fullClone ? diskStorage : null,
          full: fullClone,
          ...(targetNode === null || targetNode === template.node ? {} : { targetNode }),
        },
        effect,
      );
    },
    "power-off": (_, job, world, effect) => {
      const { vmid, owner } = desiredVm(job, world);
      return world.hypervisor.stop(vmid, owner, effect);
    },
    resize: ({ disk }, job, world, effect) => {
      const { vmid, owner, diskBytes } = desiredVm(job, world);
      return world.hypervisor.resizeDisk(vmid, owner, disk, diskBytes, effect);
    },
    firewall: (_, job, world, effect) => {
      const { vmid, owner, firewall } = desiredVm(job, world);
      return world.hypervisor.setFirewall(vmid, owner, firewall, effect);
    },
    configure: async ({ rewriteSecrets }, job, world, effect) => {
      const { vmid, owner, config, running } = desiredVm(job, world);
      await world.hypervisor.configure(vmid, owner, { desired: config, rewriteSecrets }, effect);
      // The job that starts it may be next.
      if (!running) await untilFiltered(job, world, effect);
    },
    // In this step: an attempt that continues after another one cannot know since when the rules exist.
    start: async (_, job, world, effect) => {
      const { vmid, owner } = desiredVm(job, world);
      await untilFiltered(job, world, effect);
      await world.hypervisor.start(vmid, owner, effect);
    },
    "set-password": async (_, job, world, effect) => {
      const { vmid, owner, guestUser: user } = desiredVm(job, world);
      if (user !== null) await setGuestPassword({ vmid, owner, user }, FIRST_BOOT_TIMEOUT, world, effect);
    },
    note: ({ vm }, job, world, effect) => noteOnVm(job, world, PASSWORD_IS_SET, vm, effect),
  },

  observed({ payload }, seen) {
    if (seen.state !== "present") return { power_state: "unknown" };
    const { vm } = seen;
    return {
      power_state: vm.power === "stopped" ? "off" : "on",
      node: vm.node,
      vmid: vm.vmid,
      vcpu: Number(vm.config.cores) * Number(vm.config.sockets ?? 1),
      memory_mb: Number(vm.config.memory),
      disk_bytes: bootDiskOf(vm.config)?.bytes ?? 0,
      addresses: [
        ...payload.interfaces.map((each) => each.address),
        ...(payload.public_interface?.addresses ?? []).map((each) => each.address),
      ],
      ...(payload.filter === undefined ? {} : { filter: payload.filter.id }),
    };
  },
};

/** A guest is in its network before the hypervisor's firewall has read the rules that were written for it just now. */
async function untilFiltered(
  { payload }: Job<PayloadOf<"ServerCreate">>,
  world: World,
  effect: EffectContext,
): Promise<void> {
  if (payload.filter?.is_filtered === true) await waitForFirewall(world, effect);
}
