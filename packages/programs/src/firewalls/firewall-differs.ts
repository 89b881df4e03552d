// Whether a VM's firewall differs from the wanted one. Checked twice, by two readers that share no code: the
// hypervisor's state against what was computed for the hypervisor, and against the job's own payload. An
// error in how addresses are written for the hypervisor is on both sides of the first comparison, and is
// found by the second.

import type { DesiredFirewall, SeenFirewall } from "@kule/proxmox/vm-firewall";
import { nextFirewallChange } from "@kule/proxmox/vm-firewall-difference";
import { linesOfFilter, oneWay } from "@kule/rules/firewalls/rule-line";
import { ownAddresses } from "../servers/public-interface.ts";
import type { FilteredPayload } from "./desired-firewall.ts";
import { linesOfFirewall } from "./seen-filter.ts";

const noFilter = { is_filtered: false, rules: [] } as const;

/** @param desired what was computed from the payload */
export function firewallDiffers(
  payload: FilteredPayload,
  desired: DesiredFirewall,
  seen: SeenFirewall,
): boolean {
  return nextFirewallChange(desired, seen) !== null || !hasIntendedRules(payload, seen);
}

function hasIntendedRules(payload: FilteredPayload, seen: SeenFirewall): boolean {
  const meant = linesOfFilter(payload.filter ?? noFilter, payload.interfaces.length);
  const lists = (addresses: readonly string[]) => addresses.map(oneWay).sort().join();
  return (
    linesOfFirewall(seen).join("\n") === meant.join("\n") &&
    ownAddresses(payload).every(
      ({ index, addresses }) => lists(seen.ipsets[`ipfilter-net${index}`] ?? []) === lists(addresses),
    )
  );
}
