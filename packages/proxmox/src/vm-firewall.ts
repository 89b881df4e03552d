// The firewall of one VM as far as a server's creation sets it: the options that keep a guest to its own addresses,
// and nothing that came along with the template (a clone copies the template's firewall file).

import type { ProxmoxClient } from "./client.ts";
import { readBoolean, readNumber } from "./lenient.ts";

export type FirewallOptions = {
  readonly enable: boolean;
  readonly policy_in: "ACCEPT" | "DROP" | "REJECT";
  readonly policy_out: "ACCEPT" | "DROP" | "REJECT";
  readonly macfilter: boolean;
  readonly ipfilter: boolean;
  readonly dhcp: boolean;
  readonly ndp: boolean;
  readonly radv: boolean;
};

export type DesiredFirewall = {
  readonly options: FirewallOptions;
  /** ipset name to its addresses; a single address stands without "/32". */
  readonly ipsets: Readonly<Record<string, readonly string[]>>;
};

export type SeenFirewall = DesiredFirewall & { readonly rulePositions: readonly number[] };

/** What the firewall of a VM is when nobody has said anything. */
const DEFAULT_OPTIONS: FirewallOptions = {
  enable: false,
  policy_in: "DROP",
  policy_out: "ACCEPT",
  macfilter: true,
  ipfilter: false,
  dhcp: false,
  ndp: true,
  radv: false,
};

/**
 * Anti-spoofing without filtering: every frame must carry the interface's own MAC and one of its addresses. Without
 * the ipset the implicit set is link-local only, and the guest would have no IPv4 at all.
 */
export function antiSpoofing(
  interfaces: readonly { readonly index: number; readonly addresses: readonly string[] }[],
): DesiredFirewall {
  return {
    options: {
      ...DEFAULT_OPTIONS,
      enable: true,
      policy_in: "ACCEPT",
      policy_out: "ACCEPT",
      macfilter: true,
      ipfilter: true,
    },
    ipsets: Object.fromEntries(
      interfaces.map(({ index, addresses }) => [`ipfilter-net${index}`, [...addresses].sort()]),
    ),
  };
}

type VmPath = { readonly node: string; readonly vmid: number };
/** One changing call of the firewall, as data, so that a difference can be compared in a test. */
export type FirewallChange =
  | { readonly do: "create-ipset"; readonly name: string }
  | { readonly do: "delete-ipset"; readonly name: string }
  | { readonly do: "add-address"; readonly name: string; readonly cidr: string }
  | { readonly do: "remove-address"; readonly name: string; readonly cidr: string }
  | { readonly do: "delete-rule"; readonly position: number }
  | { readonly do: "set-options"; readonly options: FirewallOptions };

function normalCidr(cidr: string): string {
  return cidr
    .toLowerCase()
    .replace(/\/32$/, "")
    .replace(/^([0-9a-f:]+)\/128$/, "$1");
}

/** The address sets first and the options that use them last. Rules go from the highest position down. */
export function firewallDifference(desired: DesiredFirewall, seen: SeenFirewall): FirewallChange[] {
  const changes: FirewallChange[] = [];
  for (const [name, addresses] of Object.entries(desired.ipsets)) {
    const has = seen.ipsets[name];
    if (!has) changes.push({ do: "create-ipset", name });
    const [wanted, present] = [addresses.map(normalCidr), (has ?? []).map(normalCidr)];
    for (const cidr of wanted) if (!present.includes(cidr)) changes.push({ do: "add-address", name, cidr });
    for (const cidr of present)
      if (!wanted.includes(cidr)) changes.push({ do: "remove-address", name, cidr });
  }
  for (const position of [...seen.rulePositions].sort((a, b) => b - a))
    changes.push({ do: "delete-rule", position });
  for (const name of Object.keys(seen.ipsets))
    if (!(name in desired.ipsets)) changes.push({ do: "delete-ipset", name });
  const keys = Object.keys(desired.options) as (keyof FirewallOptions)[];
  if (keys.some((key) => desired.options[key] !== seen.options[key]))
    changes.push({ do: "set-options", options: desired.options });
  return changes;
}

export async function readVmFirewall(
  client: ProxmoxClient,
  path: VmPath,
  signal?: AbortSignal,
): Promise<SeenFirewall> {
  const [options, rules, sets] = await Promise.all([
    client.call("GET /nodes/{node}/qemu/{vmid}/firewall/options", path, { signal }),
    client.call("GET /nodes/{node}/qemu/{vmid}/firewall/rules", path, { signal }),
    client.call("GET /nodes/{node}/qemu/{vmid}/firewall/ipset", path, { signal }),
  ]);
  const contents = await Promise.all(
    sets.map(async ({ name }) => {
      const entries = await client.call(
        "GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}",
        { ...path, name },
        { signal },
      );
      return [name, entries.map((entry) => normalCidr(entry.cidr)).sort()] as const;
    }),
  );
  const flag = (key: "enable" | "macfilter" | "ipfilter" | "dhcp" | "ndp" | "radv") =>
    options[key] === undefined ? DEFAULT_OPTIONS[key] : readBoolean(options[key]);
  return {
    options: {
      enable: flag("enable"),
      policy_in: options.policy_in ?? DEFAULT_OPTIONS.policy_in,
      policy_out: options.policy_out ?? DEFAULT_OPTIONS.policy_out,
      macfilter: flag("macfilter"),
      ipfilter: flag("ipfilter"),
      dhcp: flag("dhcp"),
      ndp: flag("ndp"),
      radv: flag("radv"),
    },
    ipsets: Object.fromEntries(contents),
    rulePositions: rules.flatMap((rule) => readNumber(rule.pos) ?? []),
  };
}

/** Makes one change. */
export async function applyFirewallChange(
  client: ProxmoxClient,
  path: VmPath,
  change: FirewallChange,
  options: { signal?: AbortSignal | undefined; answered: () => Promise<void> },
): Promise<void> {
  switch (change.do) {
    case "create-ipset":
      await client.call(
        "POST /nodes/{node}/qemu/{vmid}/firewall/ipset",
        { ...path, name: change.name },
        options,
      );
      return;
    case "delete-ipset":
      await client.call(
        "DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}",
        { ...path, name: change.name, force: true },
        options,
      );
      return;
    case "add-address":
      await client.call(
        "POST /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}",
        { ...path, name: change.name, cidr: change.cidr },
        options,
      );
      return;
    case "remove-address":
      await client.call(
        "DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}",
        { ...path, name: change.name, cidr: change.cidr },
        options,
      );
      return;
    case "delete-rule":
      await client.call(
        "DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}",
        { ...path, pos: change.position },
        options,
      );
      return;
    case "set-options":
      await client.call(
        "PUT /nodes/{node}/qemu/{vmid}/firewall/options",
        { ...path, ...change.options },
        options,
      );
      return;
  }
}
