// Shared code of the programs that change an existing server.

import type { PayloadOf, ServerJobKind } from "@kule/contract/schemas";
import { bootDiskOf } from "@kule/proxmox/disks";
import type { DesiredConfig, EffectContext, Owner, Vm } from "@kule/proxmox/hypervisor";
import { parseJobNote, withJobNote } from "@kule/proxmox/job-note";
import { renderTags } from "@kule/proxmox/tags";
import type { LastObservation } from "../errors.ts";
import type { Job, Observed, World } from "../program.ts";
import { settledSighting } from "./settled-sighting.ts";
import { isComplete, notOurs, quarantined } from "./vm-problems.ts";

export type SeenVm = { readonly state: "absent" } | { readonly state: "present"; readonly vm: Vm };

/** The tag of a server in its removal buffer. */
export const REMOVING_TAG = "kule-removing";

/**
 * The config of a VM that is kept: the changes of the removal buffer are reverted, except the protection,
 * which all have. An incomplete VM does not start with its node.
 */
export function keptConfig(payload: PayloadOf<ServerJobKind>, vm: Pick<Vm, "tags">): DesiredConfig {
  const tags = renderTags(vm.tags.filter((tag) => tag !== REMOVING_TAG));
  return { ...(isComplete(payload, vm) ? { onboot: "1" } : {}), protection: "1", tags };
}

export function ownerOf(job: Job<PayloadOf<ServerJobKind>>, world: Pick<World, "settings">): Owner {
  return { serverId: job.payload.server.id, region: world.settings.region };
}

/** Throws Failed for a VM that is not the server's, and for one that only an operator can unlock. */
export async function observeExisting(
  job: Job<PayloadOf<ServerJobKind>>,
  world: World,
  effect: EffectContext,
): Promise<SeenVm> {
  const { vmid } = job.payload;
  if (wasNeverOurs(job)) return { state: "absent" };
  const sighting = await settledSighting(world, vmid, ownerOf(job, world), undefined, effect);
  if (sighting.state === "foreign") throw notOurs(vmid, sighting.why);
  if (sighting.state === "stale") throw quarantined(vmid, sighting.node);
  return sighting;
}

/**
 * A server that was to adopt a VM and never did: any VM with its number is not Kule's, and must not be
 * changed, even if our marker was written before the adoption was cancelled.
 */
export function wasNeverOurs({ payload }: Job<PayloadOf<ServerJobKind>>): boolean {
  return "taken_over" in payload && payload.taken_over === false;
}

/** The pool of the server's organisation, which is created when it does not exist. */
export async function joinOwnPool(
  pool: string,
  job: Job<PayloadOf<ServerJobKind>>,
  world: World,
  effect: EffectContext,
): Promise<void> {
  const { vmid, server } = job.payload;
  await world.hypervisor.ensurePool(pool, `Servers of ${server.organisation_id}`, effect);
  await world.hypervisor.joinPool(vmid, ownerOf(job, world), pool, effect);
}

export function observedPower(seen: SeenVm): Observed {
  if (seen.state === "absent") return { power_state: "off" };
  return { power_state: seen.vm.power === "stopped" ? "off" : "on", node: seen.vm.node, vmid: seen.vm.vmid };
}

/** Whether the VM is on, read once; null when a task runs on it, or it does not exist or is not ours. */
export async function lastPowerState(
  job: Job<PayloadOf<ServerJobKind>>,
  world: World,
  signal?: AbortSignal,
): Promise<LastObservation | null> {
  const vm = await lastVmState(job, world, signal);
  return vm === null ? null : { power_state: vm.power === "stopped" ? "off" : "on" };
}

async function lastVmState(
  job: Job<PayloadOf<ServerJobKind>>,
  world: World,
  signal?: AbortSignal,
): Promise<Vm | null> {
  const { vmid } = job.payload;
  const sighting = await world.hypervisor.findVm(vmid, ownerOf(job, world), undefined, signal);
  return sighting.state === "present" ? sighting.vm : null;
}

/** With the size of its disk: what has grown stays grown, however the job ends. */
export async function lastSize(
  job: Job<PayloadOf<ServerJobKind>>,
  world: World,
  signal?: AbortSignal,
): Promise<LastObservation | null> {
  const vm = await lastVmState(job, world, signal);
  if (vm === null) return null;
  const bytes = bootDiskOf(vm.config)?.bytes ?? null;
  return {
    power_state: vm.power === "stopped" ? "off" : "on",
    ...(bytes === null ? {} : { disk_bytes: bytes }),
  };
}

/** Writes what this job has to remember onto the VM, in place of what an earlier job left there. */
export function noteOnVm(
  job: Job<PayloadOf<ServerJobKind>>,
  world: World,
  facts: Readonly<Record<string, string>>,
  vm: Pick<Vm, "config">,
  effect: EffectContext,
): Promise<void> {
  const description = withJobNote(vm.config.description, { jobId: job.id, facts });
  return world.hypervisor.configure(
    job.payload.vmid,
    ownerOf(job, world),
    { desired: { description }, rewriteSecrets: false },
    effect,
  );
}

/** The note of this job on the VM; null when there is none yet. */
export function noteOf(jobId: string, vm: Pick<Vm, "config">): Readonly<Record<string, string>> | null {
  const note = parseJobNote(vm.config.description);
  return note?.jobId === jobId ? note.facts : null;
}
