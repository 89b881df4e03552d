// PublicIpAttach and PublicIpDetach: apply the wanted public interface to the VM, to the filter that limits
// it to its addresses, and to the guest. Both run the same program: only the wanted state differs.

import type { PayloadOf } from "@kule/contract/schemas";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { desiredFirewall } from "../firewalls/desired-firewall.ts";
import { waitForFirewall } from "../firewalls/firewall-round.ts";
import type { Job, Program, World } from "../program.ts";
import { observedPower, observeExisting, ownerOf } from "../servers/existing-server.ts";
import { publicIndex } from "../servers/public-interface.ts";
import {
  clearGuest,
  compareGuestNetwork,
  configureGuestNetwork,
  guestNetworkConfig,
} from "./guest-network.ts";
import {
  guestHasAddresses,
  type PublicIpPayload,
  type PublicIpStep,
  planPublicInterface,
  type SeenNetwork,
} from "./plan.ts";

/** How long a guest may take to show an address that was configured. */
const GUEST_MILLISECONDS = 15_000;
const GUEST_POLL_MILLISECONDS = 1_000;

export const attachPublicIp: Program<"PublicIpAttach", SeenNetwork, PublicIpStep> = {
  kind: "PublicIpAttach",
  observe: (job, world, effect) => observeNetwork(job, world, effect),
  plan: (job, seen, world) => planPublicInterface(job.payload, seen, world.settings),
  apply: {
    firewall: (_, job, world, effect) =>
      world.hypervisor.setFirewall(
        job.payload.vmid,
        ownerOf(job, world),
        desiredFirewall(job.payload),
        effect,
      ),
    "clear-guest": async (_, job, world, effect) => {
      // Whether it obeys does not matter: the interface goes next. A file that stays would only be in the way later.
      const { vmid, guest_network } = job.payload;
      for (const command of clearGuest(guest_network))
        await world.hypervisor.runInGuest(vmid, ownerOf(job, world), command, effect);
    },
    configure: ({ config }, job, world, effect) =>
      world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: config, rewriteSecrets: false },
        effect,
      ),
    "open-link": async ({ config }, job, world, effect) => {
      await waitForFirewall(world, effect);
      await world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: config, rewriteSecrets: false },
        effect,
      );
    },
    "tell-guest": async ({ otherwise }, job, world, effect) => {
      if (await isTold(job, world, effect)) return;
      // A guest that cannot be configured while it runs reads it from its drive, when it boots.
      await world.hypervisor.configure(
        job.payload.vmid,
        ownerOf(job, world),
        { desired: otherwise, rewriteSecrets: false },
        effect,
      );
    },
    "write-drive": (_, job, world, effect) =>
      world.hypervisor.writeCloudInit(job.payload.vmid, ownerOf(job, world), effect),
  },
  observed(job, seen) {
    const payload = job.payload;
    const wanted = payload.public_interface ?? null;
    if (seen.state === "absent") return observedPower(seen);
    const filter = payload.filter === undefined ? {} : { filter: payload.filter.id };
    if (wanted === null) return { ...observedPower(seen), ...filter };
    const boots = seen.vm.power !== "stopped" && !guestHasAddresses(payload, seen.guest);
    return {
      ...observedPower(seen),
      ...filter,
      addresses: [
        ...payload.interfaces.map(({ address }) => address),
        ...wanted.addresses.map(({ address }) => address),
      ],
      public_network: boots ? "next_boot" : "applied",
    };
  },
};

/** The same with less wanted: payloads of the two kinds differ in their kind alone. */
export const detachPublicIp = {
  ...attachPublicIp,
  kind: "PublicIpDetach",
} as unknown as Program<"PublicIpDetach", SeenNetwork, PublicIpStep>;

async function observeNetwork(
  job: Job<PublicIpPayload>,
  world: World,
  effect: EffectContext,
): Promise<SeenNetwork> {
  const seen = await observeExisting(job, world, effect);
  if (seen.state === "absent") return seen;
  const { hypervisor } = world;
  const runs = seen.vm.power === "running";
  const [firewall, guest, staleKeys] = await Promise.all([
    hypervisor.readFirewall(seen.vm, effect.signal),
    runs ? hypervisor.guestInterfaces(seen.vm, effect.signal) : null,
    seen.vm.power === "stopped" ? [] : hypervisor.staleCloudInitKeys(seen.vm, effect.signal),
  ]);
  const wasConfiguredOtherwise = await hasOtherGuestNetwork(job, { ...seen, guest }, world, effect);
  return { ...seen, firewall, guest, staleKeys, wasConfiguredOtherwise };
}

/**
 * Whether a guest that shows its addresses has another configuration file than the wanted one. One without a
 * file was configured by its drive, or manually; one whose agent runs no programs cannot be queried: both are
 * left as they are.
 */
async function hasOtherGuestNetwork(
  { payload }: Job<PublicIpPayload>,
  { vm, guest }: Pick<Extract<SeenNetwork, { state: "present" }>, "vm" | "guest">,
  { hypervisor, settings }: World,
  effect: EffectContext,
): Promise<boolean> {
  const { guest_network: tool, vmid, server } = payload;
  const wanted = guestNetworkConfig(payload as PayloadOf<"PublicIpAttach">);
  if (tool === "none" || wanted === null || !guestHasAddresses(payload, guest)) return false;
  if (vm.config[`ipconfig${publicIndex(payload)}`] !== undefined) return false;
  const owner = { serverId: server.id, region: settings.region };
  return (
    (await hypervisor.runInGuest(vmid, owner, compareGuestNetwork(tool, wanted), effect))?.exitCode === 1
  );
}

/** Configures the guest, and waits until it shows the addresses. */
async function isTold(job: Job<PublicIpPayload>, world: World, effect: EffectContext): Promise<boolean> {
  const { hypervisor, runtime } = world;
  const { payload } = job;
  const { vmid, guest_network } = payload;
  const wanted = guestNetworkConfig(payload as PayloadOf<"PublicIpAttach">);
  if (wanted === null) return false;
  for (const command of configureGuestNetwork(guest_network, wanted))
    if ((await hypervisor.runInGuest(vmid, ownerOf(job, world), command, effect))?.exitCode !== 0)
      return false;
  const startedAt = runtime.now();
  for (;;) {
    // Before the look: a process that was suspended meanwhile looks once more.
    const waited = runtime.now() - startedAt;
    const seen = await hypervisor.findVm(vmid, ownerOf(job, world), undefined, effect.signal);
    if (seen.state !== "present") return false;
    const guest = await hypervisor.guestInterfaces(seen.vm, effect.signal);
    if (guestHasAddresses(payload, guest)) return true;
    if (waited >= GUEST_MILLISECONDS) return false;
    await effect.stillRunning(waited);
    await runtime.pause(GUEST_POLL_MILLISECONDS, effect.signal);
  }
}
