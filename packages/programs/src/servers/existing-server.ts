// What the programs that change a server which is already there have in common.

import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import type { EffectContext, Owner, Vm } from "@kule/proxmox/hypervisor";
import type { Job, Observed, World } from "../program.ts";
import { settledSighting } from "./settled-sighting.ts";
import { notOurs, quarantined } from "./vm-problems.ts";

export type SeenVm = { readonly state: "absent" } | { readonly state: "present"; readonly vm: Vm };

/** The tag of a server in its removal buffer. */
export const REMOVING_TAG = "kule-removing";

export function ownerOf(job: Job<PayloadOf<JobKind>>, world: Pick<World, "settings">): Owner {
  return { serverId: job.payload.server.id, region: world.settings.region };
}

/** Throws Failed for a VM that is not the server's, and for one that nobody but an operator can unlock. */
export async function observeExisting(
  job: Job<PayloadOf<JobKind>>,
  world: World,
  effect: EffectContext,
): Promise<SeenVm> {
  const { vmid } = job.payload;
  const sighting = await settledSighting(world, vmid, ownerOf(job, world), undefined, effect);
  if (sighting.state === "foreign") throw notOurs(vmid, sighting.why);
  if (sighting.state === "stale") throw quarantined(vmid, sighting.node);
  return sighting;
}

export function observedPower(seen: SeenVm): Observed {
  if (seen.state === "absent") return { power_state: "off" };
  return { power_state: seen.vm.power === "stopped" ? "off" : "on", node: seen.vm.node, vmid: seen.vm.vmid };
}
