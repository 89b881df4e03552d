// ServerRestore: the server leaves its removal buffer and runs again, if it ran before.

import type { Program } from "../../program.ts";
import { observedPower, observeExisting, ownerOf, type SeenVm } from "../existing-server.ts";
import { planRestore, type RestoreStep } from "./plan.ts";

export const restoreServer: Program<"ServerRestore", SeenVm, RestoreStep> = {
  kind: "ServerRestore",
  observe: observeExisting,
  plan: ({ payload }, seen) => planRestore(payload, seen),
  apply: {
    unmark: ({ config }, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: config, rewriteSecrets: false },
        effect,
      ),
    start: (_, job, world, effect) => world.hypervisor.start(job.payload.vmid, ownerOf(job, world), effect),
  },
  observed: (_, seen) => observedPower(seen),
};
