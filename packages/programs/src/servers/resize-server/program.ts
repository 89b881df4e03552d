// ServerResize: another package's CPU, memory and disk, really applied, with the power as it was.

import { bootDiskOf } from "@kule/proxmox/disks";
import type { Program } from "../../program.ts";
import { lastSize, observedPower, observeExisting, ownerOf, type SeenVm } from "../existing-server.ts";
import { diskBytesOf, planResize, type ResizeStep, sizeOf } from "./plan.ts";

/** How long a guest is asked before it is switched off: its owner has allowed a restart. */
const SHUTDOWN_TIMEOUT_SECONDS = 60;

export const resizeServer: Program<"ServerResize", SeenVm, ResizeStep> = {
  kind: "ServerResize",
  irreversible: new Set(["grow-disk", "configure", "shut-down", "power-off", "start"]),
  observe: observeExisting,
  lastObservation: lastSize,
  plan: ({ payload }, seen) => planResize(payload, seen),
  apply: {
    "grow-disk": ({ disk }, job, world, effect) =>
      world.hypervisor.resizeDisk(
        job.payload.vmid,
        ownerOf(job, world),
        disk,
        diskBytesOf(job.payload),
        effect,
      ),
    configure: (_, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: sizeOf(job.payload), rewriteSecrets: false },
        effect,
      ),
    "shut-down": ({ process }, job, world, effect) => {
      const how = { timeoutSeconds: SHUTDOWN_TIMEOUT_SECONDS, force: true, process };
      return world.hypervisor.shutdown(job.payload.vmid, ownerOf(job, world), how, effect);
    },
    "power-off": ({ process }, job, world, effect) =>
      world.hypervisor.stop(job.payload.vmid, ownerOf(job, world), effect, process),
    start: (_, job, world, effect) => world.hypervisor.start(job.payload.vmid, ownerOf(job, world), effect),
  },
  observed(_, seen) {
    if (seen.state === "absent") return observedPower(seen);
    const { config } = seen.vm;
    return {
      ...observedPower(seen),
      vcpu: Number(config.cores) * Number(config.sockets ?? 1),
      memory_mb: Number(config.memory),
      disk_bytes: bootDiskOf(config)?.bytes ?? 0,
    };
  },
};
