// FirewallApply: applies the wanted filter to the VM. One step, of as many calls as it takes; each leaves the
// VM with rules that are no worse than those before and those after.

import type { PayloadOf } from "@kule/contract/schemas";
import type { Vm } from "@kule/proxmox/hypervisor";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import type { Program } from "../program.ts";
import { lastPowerState, observedPower, observeExisting, ownerOf } from "../servers/existing-server.ts";
import { vmMissing } from "../servers/vm-problems.ts";
import { desiredFirewall } from "./desired-firewall.ts";
import { firewallDiffers } from "./firewall-differs.ts";
import { waitForFirewall } from "./firewall-round.ts";

type SeenFilter =
  | { readonly state: "absent" }
  | { readonly state: "present"; readonly vm: Vm; readonly firewall: SeenFirewall };

type FilterStep = { readonly do: "firewall" };

export const applyFirewall: Program<"FirewallApply", SeenFilter, FilterStep> = {
  kind: "FirewallApply",
  lastObservation: lastPowerState,

  async observe(job, world, effect) {
    const seen = await observeExisting(job, world, effect);
    if (seen.state === "absent") return seen;
    return { ...seen, firewall: await world.hypervisor.readFirewall(seen.vm, effect.signal) };
  },

  plan: ({ payload }, seen) => planFilter(payload, seen),

  apply: {
    firewall: async (_, job, world, effect) => {
      const { vmid } = job.payload;
      await world.hypervisor.setFirewall(vmid, ownerOf(job, world), desiredFirewall(job.payload), effect);
      // For a VM that is off as well: the job that starts it may be next, and its guest is up before the round is over.
      await waitForFirewall(world, effect);
    },
  },

  observed: ({ payload }, seen) => ({ ...observedPower(seen), filter: payload.filter.id }),
};

function planFilter(payload: PayloadOf<"FirewallApply">, seen: SeenFilter): readonly FilterStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  return firewallDiffers(payload, desiredFirewall(payload), seen.firewall) ? [{ do: "firewall" }] : [];
}
