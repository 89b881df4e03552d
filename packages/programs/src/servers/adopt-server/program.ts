// ServerAdopt: an existing VM becomes a server's. It keeps running, or stays off.

import type { PayloadOf } from "@kule/contract/schemas";
import type { AdoptionSighting } from "@kule/proxmox/adoption";
import { renderMarker } from "@kule/proxmox/marker";
import type { Job, Program, World } from "../../program.ts";
import { poolOf } from "../create-server/desired-vm.ts";
import { joinOwnPool, ownerOf } from "../existing-server.ts";
import { type AdoptStep, planAdopt, type Wanted } from "./plan.ts";

export const adoptServer: Program<"ServerAdopt", AdoptionSighting, AdoptStep> = {
  kind: "ServerAdopt",

  observe: (job, world, effect) =>
    world.hypervisor.findForAdoption(job.payload.vmid, ownerOf(job, world), effect.signal),

  plan: (job, seen, world) => planAdopt(wanted(job, world), seen),

  apply: {
    mark: ({ description, tags }, job, world, effect) =>
      world.hypervisor.adopt(
        job.payload.vmid,
        ownerOf(job, world),
        { name: job.payload.server.name, description, tags },
        effect,
      ),
    "join-pool": ({ pool }, job, world, effect) => joinOwnPool(pool, job, world, effect),
  },

  observed: ({ payload }, seen) =>
    seen.state === "adoptable"
      ? {
          power_state: seen.vm.running ? "on" : "off",
          node: seen.vm.node,
          vmid: payload.vmid,
          macs: seen.vm.macs,
        }
      : { power_state: "unknown", vmid: payload.vmid },
};

function wanted(
  { id, payload }: Job<PayloadOf<"ServerAdopt">>,
  { settings }: Pick<World, "settings">,
): Wanted {
  const { server, vmid, tags, pool } = payload;
  return {
    vmid,
    name: server.name,
    marker: renderMarker({
      serverId: server.id,
      organisationId: server.organisation_id,
      region: settings.region,
      jobId: id,
    }),
    tags,
    pool: pool === undefined ? null : poolOf(settings, pool),
  };
}
