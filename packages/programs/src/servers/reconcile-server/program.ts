// ServerReconcile: a VM that was changed manually is restored to the records.

import type { PayloadOf } from "@kule/contract/schemas";
import type { Adoptable } from "@kule/proxmox/adoption";
import type { DesiredConfig, EffectContext } from "@kule/proxmox/hypervisor";
import { desiredFirewall } from "../../firewalls/desired-firewall.ts";
import { waitForFirewall } from "../../firewalls/firewall-round.ts";
import type { Job, Program, World } from "../../program.ts";
import { joinOwnPool, lastPowerState, observedPower, ownerOf } from "../existing-server.ts";
import { settledSighting } from "../settled-sighting.ts";
import { notOurs, quarantined } from "../vm-problems.ts";
import { planReconcile, type ReconcileStep, type SeenDrift } from "./plan.ts";

type ReconcileJob = Job<PayloadOf<"ServerReconcile">>;

export const reconcileServer: Program<"ServerReconcile", SeenDrift, ReconcileStep> = {
  kind: "ServerReconcile",
  lastObservation: lastPowerState,

  async observe(job, world, effect) {
    const { vmid } = job.payload;
    const { hypervisor } = world;
    const sighting = await settledSighting(world, vmid, ownerOf(job, world), undefined, effect);
    if (sighting.state === "absent") return sighting;
    if (sighting.state === "stale") throw quarantined(vmid, sighting.node);
    if (sighting.state === "present")
      return { ...sighting, firewall: await hypervisor.readFirewall(sighting.vm, effect.signal) };
    const unmarked = await hypervisor.findForAdoption(vmid, ownerOf(job, world), effect.signal);
    if (unmarked.state === "adoptable" && isKnownWithoutMarker(job, unmarked.vm))
      return { state: "unmarked", vm: unmarked.vm };
    throw notOurs(vmid, sighting.why);
  },

  plan: ({ id, payload }, seen, { settings }) => planReconcile(id, payload, seen, settings),

  apply: {
    mark: ({ description, tags }, job, world, effect) => {
      const { vmid, server } = job.payload;
      const marks = { name: server.name, description, tags };
      return world.hypervisor.adopt(vmid, ownerOf(job, world), marks, effect);
    },
    "join-pool": ({ pool }, job, world, effect) => joinOwnPool(pool, job, world, effect),
    describe: ({ config }, job, world, effect) => write(config, job, world, effect),
    "close-links": ({ config }, job, world, effect) => write(config, job, world, effect),
    "change-links": ({ config }, job, world, effect) => write(config, job, world, effect),
    firewall: async ({ waits }, job, world, effect) => {
      const { vmid } = job.payload;
      await world.hypervisor.setFirewall(vmid, ownerOf(job, world), desiredFirewall(job.payload), effect);
      // For a VM that is off as well: the job that starts it may be next, and its guest is up before the round is over.
      if (waits) await waitForFirewall(world, effect);
    },
    // The wait is in this step: an attempt that continues after another one cannot know since when the
    // interface exists.
    "open-links": async ({ config }, job, world, effect) => {
      await waitForFirewall(world, effect);
      await write(config, job, world, effect);
    },
  },

  observed: ({ payload }, seen) =>
    seen.state === "present"
      ? { ...observedPower(seen), filter: payload.filter.id }
      : { power_state: "unknown" },
};

/**
 * Whether a VM without a marker is the server's all the same: it has the server's number, its tag, and its MAC address,
 * which no copy of a VM gets. A stranger has none of it.
 */
function isKnownWithoutMarker({ payload }: ReconcileJob, { isMarked, tags, macs }: Adoptable): boolean {
  const [first] = payload.interfaces;
  return (
    !isMarked &&
    tags.includes(payload.server.id.toLowerCase()) &&
    macs.some((mac) => mac?.toUpperCase() === first?.mac.toUpperCase())
  );
}

function write(
  desired: DesiredConfig,
  job: ReconcileJob,
  world: World,
  effect: EffectContext,
): Promise<void> {
  const request = { desired, rewriteSecrets: false };
  return world.hypervisor.configure(job.payload.vmid, ownerOf(job, world), request, effect);
}
