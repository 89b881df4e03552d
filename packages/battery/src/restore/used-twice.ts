import type { ObservedVm } from "@kule/testing/world-check/region-invariants";

/** Addresses that two VMs of one segment have, and VM numbers of which another VM was made. */
export function usedTwice(vms: readonly ObservedVm[]): string[] {
  const holders = new Map<string, number[]>();
  for (const { vmid, config } of vms)
    for (const use of usesOf(config ?? {})) holders.set(use, [...(holders.get(use) ?? []), vmid]);
  return [...holders]
    .filter(([, vmids]) => vmids.length > 1)
    .map(([use, vmids]) => `${use} is used twice: by VMs ${vmids.join(" and ")}`);
}

/** Each interface's MAC, and its addresses in its segment. */
function usesOf(config: Readonly<Record<string, string>>): string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const position = /^net(\d+)$/.exec(key)?.[1];
    if (position === undefined) return [];
    const mac = /([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5})/.exec(value)?.[1];
    const segment = `${/bridge=([^,]+)/.exec(value)?.[1]} ${/tag=(\d+)/.exec(value)?.[1]}`;
    const addresses = [...(config[`ipconfig${position}`] ?? "").matchAll(/ip6?=([0-9a-fA-F.:]+)\//g)];
    return [
      ...(mac === undefined ? [] : [`MAC ${mac.toUpperCase()}`]),
      ...addresses.map(([, address]) => `address ${address} of ${segment}`),
    ];
  });
}
