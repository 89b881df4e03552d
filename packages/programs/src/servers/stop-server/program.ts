// ServerStop: the server enters its removal buffer. It is off, stays off, and keeps its disks.

import type { Program } from "../../program.ts";
import { observedPower, observeExisting, ownerOf, type SeenVm } from "../existing-server.ts";
import { planStop, type StopStep } from "./plan.ts";

/** How long a guest is asked before it is switched off. */
const SHUTDOWN_TIMEOUT_SECONDS = 60;

export const stopServer: Program<"ServerStop", SeenVm, StopStep> = {
  kind: "ServerStop",
  observe: observeExisting,
  plan: (_, seen) => planStop(seen),
  apply: {
    protect: ({ config }, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: config, rewriteSecrets: false },
        effect,
      ),
    "shut-down": (_, job, world, effect) =>
      world.hypervisor.shutdown(
        job.payload.vmid,
        ownerOf(job, world),
        { timeoutSeconds: SHUTDOWN_TIMEOUT_SECONDS, force: true },
        effect,
      ),
    "power-off": (_, job, world, effect) =>
      world.hypervisor.stop(job.payload.vmid, ownerOf(job, world), effect),
  },
  observed: (_, seen) => observedPower(seen),
};
