// ServerRebuild: another VM with the same number, the same MAC and addresses, and a new disk.

import type { PayloadOf } from "@kule/contract/schemas";
import { ProxmoxForbidden } from "@kule/proxmox/errors";
import type { Job, Program } from "../../program.ts";
import { desiredVm } from "../create-server/desired-vm.ts";
import { createServer } from "../create-server/program.ts";
import { lastPowerState, ownerOf } from "../existing-server.ts";
import { settledSighting } from "../settled-sighting.ts";
import { volumesLeft } from "../vm-problems.ts";
import { planRebuild, type RebuildStep, type SeenRebuild } from "./plan.ts";

type RebuildJob = Job<PayloadOf<"ServerRebuild">>;

/** The new VM is created like that of any new server. */
function asCreate({ id, payload }: RebuildJob): Job<PayloadOf<"ServerCreate">> {
  return { id, payload: { ...payload, kind: "ServerCreate" } };
}

const {
  pool,
  clone,
  "power-off": powerOff,
  resize,
  firewall,
  configure,
  start,
  "set-password": setPassword,
  note,
} = createServer.apply;

export const rebuildServer: Program<"ServerRebuild", SeenRebuild, RebuildStep> = {
  kind: "ServerRebuild",
  irreversible: new Set(["destroy", "free-volumes", "clone"]),
  idle: new Set(["set-password"]),
  lastObservation: lastPowerState,

  async observe(job, world, effect) {
    const want = desiredVm(asCreate(job), world);
    const { hypervisor } = world;
    const { signal } = effect;
    const look = () => settledSighting(world, want.vmid, want.owner, want.templateVmid, effect);
    let sighting = await look();
    if (sighting.state === "absent") {
      const [template, poolExists, leftovers] = await Promise.all([
        hypervisor.findTemplate(want.templateVmid, signal),
        hypervisor.poolExists(want.pool, signal),
        hypervisor.leftoverVolumes(want.vmid, signal),
      ]);
      // Volumes of a clone that arrived in the meantime are no leftovers.
      if (leftovers.length > 0) sighting = await look();
      if (sighting.state === "absent") return { state: "absent", template, poolExists, leftovers };
    }
    if (sighting.state !== "present") return sighting;
    const { vm } = sighting;
    if (vm.marker.jobId === job.id)
      return { state: "present", vm, firewall: await hypervisor.readFirewall(vm, signal) };
    return { state: "former", vm, template: await hypervisor.findTemplate(want.templateVmid, signal) };
  },

  plan: (job, seen, world) => planRebuild(desiredVm(asCreate(job), world), seen),

  apply: {
    unprotect: (_, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: { protection: null }, rewriteSecrets: false },
        effect,
      ),
    "turn-off": ({ process }, job, world, effect) =>
      world.hypervisor.stop(job.payload.vmid, ownerOf(job, world), effect, process),
    destroy: (_, job, world, effect) =>
      world.hypervisor.destroy(job.payload.vmid, ownerOf(job, world), effect, job.id),
    "free-volumes": async ({ volumes }, job, world, effect) => {
      try {
        for (const volume of volumes) await world.hypervisor.freeVolume(job.payload.vmid, volume, effect);
      } catch (error) {
        if (!(error instanceof ProxmoxForbidden)) throw error;
        throw volumesLeft(volumes, error);
      }
    },
    clone: async (step, job, world, effect) => {
      await pool({ do: "pool" }, asCreate(job), world, effect);
      await clone(step, asCreate(job), world, effect);
    },
    "power-off": (step, job, world, effect) => powerOff(step, asCreate(job), world, effect),
    resize: (step, job, world, effect) => resize(step, asCreate(job), world, effect),
    firewall: (step, job, world, effect) => firewall(step, asCreate(job), world, effect),
    configure: (step, job, world, effect) => configure(step, asCreate(job), world, effect),
    start: (step, job, world, effect) => start(step, asCreate(job), world, effect),
    "set-password": (step, job, world, effect) => setPassword(step, asCreate(job), world, effect),
    note: (step, job, world, effect) => note(step, asCreate(job), world, effect),
  },

  observed(job, seen) {
    return seen.state === "present" ? createServer.observed(asCreate(job), seen) : { power_state: "unknown" };
  },
};
