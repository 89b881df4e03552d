// ServerPower: start, shutdown, stop, reboot, reset.

import type { Program } from "../../program.ts";
import { lastPowerState, noteOnVm, observeExisting, ownerOf } from "../existing-server.ts";
import { type PowerStep, planPower, type SeenPower } from "./plan.ts";

export const powerServer: Program<"ServerPower", SeenPower, PowerStep> = {
  kind: "ServerPower",
  irreversible: new Set(["power-off", "reset", "start"]),
  interruptible: new Set(["shut-down"]),
  lastObservation: lastPowerState,

  async observe(job, world, effect) {
    const { action, vmid } = job.payload;
    if (action === "stop") {
      const sighting = await world.hypervisor.findVm(vmid, ownerOf(job, world), undefined, effect.signal);
      if (sighting.state === "busy" && sighting.task?.type === "qmshutdown")
        return { state: "shutting-down" };
    }
    const seen = await observeExisting(job, world, effect);
    if (seen.state === "absent") return seen;
    const lastReset = action === "reset" ? await world.hypervisor.lastReset(seen.vm, effect.signal) : null;
    return { ...seen, lastReset };
  },

  plan: ({ id, payload }, seen) => planPower(id, payload, seen),

  apply: {
    unmark: ({ config }, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: config, rewriteSecrets: false },
        effect,
      ),
    note: ({ vm, facts }, job, world, effect) => noteOnVm(job, world, facts, vm, effect),
    "shut-down": ({ process }, job, world, effect) => {
      const { vmid, timeout_seconds, force_after } = job.payload;
      const how = { timeoutSeconds: timeout_seconds, force: force_after, process };
      return world.hypervisor.shutdown(vmid, ownerOf(job, world), how, effect);
    },
    "power-off": ({ process }, job, world, effect) =>
      world.hypervisor.stop(job.payload.vmid, ownerOf(job, world), effect, process),
    reset: ({ after }, job, world, effect) =>
      world.hypervisor.reset(job.payload.vmid, ownerOf(job, world), after, effect),
    start: (_, job, world, effect) => world.hypervisor.start(job.payload.vmid, ownerOf(job, world), effect),
  },

  observed(_, seen) {
    if (seen.state !== "present") return { power_state: "unknown" };
    const { vm } = seen;
    return { power_state: vm.power === "stopped" ? "off" : "on", node: vm.node, vmid: vm.vmid };
  },
};
