// ServerUpdate: sets the server's name on the VM, and in its guest where that is possible.

import type { Program } from "../../program.ts";
import { lastPowerState, noteOnVm, observedPower, observeExisting, ownerOf } from "../existing-server.ts";
import { planUpdate, type SeenName, type UpdateStep } from "./plan.ts";

export const updateServer: Program<"ServerUpdate", SeenName, UpdateStep> = {
  kind: "ServerUpdate",
  lastObservation: lastPowerState,

  async observe(job, world, effect) {
    const seen = await observeExisting(job, world, effect);
    if (seen.state === "absent") return seen;
    const asks = seen.vm.power === "running" && job.payload.os_family === "linux";
    return {
      ...seen,
      hostName: asks ? await world.hypervisor.guestHostName(seen.vm, effect.signal) : null,
    };
  },

  plan: ({ id, payload }, seen) => planUpdate(id, payload, seen),

  apply: {
    rename: (_, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: { name: job.payload.server.name }, rewriteSecrets: false },
        effect,
      ),
    "tell-guest": async ({ vm }, job, world, effect) => {
      const { vmid, server } = job.payload;
      const told = await world.hypervisor.setGuestHostName(vmid, ownerOf(job, world), server.name, effect);
      if (!told) await noteOnVm(job, world, { guest: "refused" }, vm, effect);
    },
  },

  observed: (_, seen) => observedPower(seen),
};
