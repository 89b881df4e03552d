// Whether a VM's firewall is other than its server's is to be. Asked twice, by two readers that share nothing: what was
// worked out for the hypervisor against what the hypervisor has, and the job's own words against what the hypervisor has.
// A mistake in how addresses are written for the hypervisor is alike on both sides of the first, and is seen by the second.

import type { DesiredFirewall, SeenFirewall } from "@kule/proxmox/vm-firewall";
import { nextFirewallChange } from "@kule/proxmox/vm-firewall-difference";
import { linesOfFilter, oneWay } from "@kule/rules/firewalls/rule-line";
import { ownAddresses } from "../servers/public-interface.ts";
import type { FilteredPayload } from "./desired-firewall.ts";
import { linesOfFirewall } from "./seen-filter.ts";

const noFilter = { is_filtered: false, rules: [] } as const;

/** @param desired what was worked out from the payload */
export function firewallDiffers(
  payload: FilteredPayload,
  desired: DesiredFirewall,
  seen: SeenFirewall,
): boolean {
  return nextFirewallChange(desired, seen) !== null || !saysWhatIsMeant(payload, seen);
}

function saysWhatIsMeant(payload: FilteredPayload, seen: SeenFirewall): boolean {
  const meant = linesOfFilter(payload.filter ?? noFilter, payload.interfaces.length);
  const lists = (addresses: readonly string[]) => addresses.map(oneWay).sort().join();
  return (
    linesOfFirewall(seen).join("\n") === meant.join("\n") &&
    ownAddresses(payload).every(
      ({ index, addresses }) => lists(seen.ipsets[`ipfilter-net${index}`] ?? []) === lists(addresses),
    )
  );
}
