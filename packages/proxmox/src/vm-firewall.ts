// The firewall of one VM: the options that limit a guest to its own addresses, the rules of the firewalls
// that are attached to its server, and nothing from the template (a clone copies the template's firewall
// file).

import type { ProxmoxClient } from "./client.ts";
import { ProxmoxNoSuchSet } from "./errors.ts";
import { readBoolean } from "./lenient.ts";
import type { FirewallChange } from "./vm-firewall-difference.ts";
import { type FirewallRuleText, type SeenRule, seenRule } from "./vm-firewall-rule.ts";

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
  /**
   * ipset name to its addresses and blocks. Observed entries are as they are listed, with `!` before an
   * excluded one.
   */
  readonly ipsets: Readonly<Record<string, readonly string[]>>;
  /** The first that matches decides. */
  readonly rules: readonly FirewallRuleText[];
};

export type SeenFirewall = Pick<DesiredFirewall, "options" | "ipsets"> & {
  readonly rules: readonly SeenRule[];
  /** Of the rules as they were read; a writer who has read others is refused. Null: there are none. */
  readonly rulesDigest: string | null;
};

/** The firewall with the digests that a writer sends, so that no concurrent change is overwritten. */
export type ReadFirewall = SeenFirewall & {
  readonly optionsDigest: string | null;
  /** By the sets' names; null is a set without an entry, and an absent one has to be read again first. */
  readonly ipsetDigests: Readonly<Record<string, string | null>>;
};

/** The options of a VM without a firewall file. */
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
    rules: [],
    options: {
      ...DEFAULT_OPTIONS,
      enable: true,
      policy_in: "DROP",
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

/** The VM's rules, in their order. */
export async function readVmFirewallRules(
  client: ProxmoxClient,
  path: VmPath,
  signal?: AbortSignal,
): Promise<Pick<SeenFirewall, "rules" | "rulesDigest">> {
  const listed = await client.call("GET /nodes/{node}/qemu/{vmid}/firewall/rules", path, { signal });
  // The schema leaves it out; every rule has that of the whole list.
  const { digest } = (listed[0] ?? {}) as { digest?: string };
  return { rules: listed.map((rule) => seenRule(rule)), rulesDigest: digest ?? null };
}

/** One of the VM's sets. */
export async function readVmIpset(
  client: ProxmoxClient,
  path: VmPath,
  name: string,
  signal?: AbortSignal,
): Promise<{ readonly addresses: readonly string[]; readonly digest: string | null }> {
  const entries = await client.call(
    "GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}",
    { ...path, name },
    { signal },
  );
  return {
    addresses: entries.map(({ cidr, nomatch }) => (readBoolean(nomatch) ? `!${cidr}` : cidr)).sort(),
    digest: entries[0]?.digest ?? null,
  };
}

export async function readVmFirewall(
  client: ProxmoxClient,
  path: VmPath,
  signal?: AbortSignal,
): Promise<ReadFirewall> {
  const [options, rules, sets] = await Promise.all([
    client.call("GET /nodes/{node}/qemu/{vmid}/firewall/options", path, { signal }),
    readVmFirewallRules(client, path, signal),
    client.call("GET /nodes/{node}/qemu/{vmid}/firewall/ipset", path, { signal }),
  ]);
  const contents = await Promise.all(
    sets.map(async ({ name }) => [name, await readVmIpset(client, path, name, signal)] as const),
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
    ipsets: Object.fromEntries(contents.map(([name, { addresses }]) => [name, addresses])),
    ipsetDigests: Object.fromEntries(contents.map(([name, { digest }]) => [name, digest])),
    // The schema leaves it out here, too.
    optionsDigest: (options as { digest?: string }).digest ?? null,
    ...rules,
  };
}

/**
 * Makes one change. Where Proxmox VE checks a digest, another writer's change since the read makes it refuse
 * this one: for existing rules, for options, and for what is removed from a set. A set accepts every
 * addition, and is deleted as a whole. A new rule is added whatever was read, because its digest is not
 * checked: a late one stays at position 0, disabled, until the firewall is written the next time.
 */
export async function applyFirewallChange(
  client: ProxmoxClient,
  path: VmPath,
  change: FirewallChange,
  read: ReadFirewall,
  options: { signal?: AbortSignal | undefined; answered: () => Promise<void> },
): Promise<void> {
  const digestOf = (digest: string | null | undefined) => (digest == null ? {} : { digest });
  const asRead = digestOf(read.rulesDigest);
  const rules = "/nodes/{node}/qemu/{vmid}/firewall/rules";
  const ipset = "/nodes/{node}/qemu/{vmid}/firewall/ipset";
  switch (change.do) {
    case "create-ipset":
      await client.call(`POST ${ipset}`, { ...path, name: change.name }, options);
      return;
    case "delete-ipset":
      try {
        await client.call(`DELETE ${ipset}/{name}`, { ...path, name: change.name, force: true }, options);
      } catch (error) {
        // It is gone, as it was to be.
        if (!(error instanceof ProxmoxNoSuchSet)) throw error;
      }
      return;
    case "add-address":
      await client.call(`POST ${ipset}/{name}`, { ...path, name: change.name, cidr: change.cidr }, options);
      return;
    case "remove-address":
      await client.call(
        `DELETE ${ipset}/{name}/{cidr}`,
        {
          ...path,
          name: change.name,
          cidr: change.cidr.replace(/^!/, ""),
          ...digestOf(read.ipsetDigests[change.name]),
        },
        options,
      );
      return;
    case "create-rule":
      await client.call(`POST ${rules}`, { ...path, ...change.rule, enable: 0 }, options);
      return;
    case "move-rule":
      await client.call(
        `PUT ${rules}/{pos}`,
        { ...path, pos: change.position, moveto: change.before, ...asRead },
        options,
      );
      return;
    case "enable-rule":
      await client.call(
        `PUT ${rules}/{pos}`,
        { ...path, pos: change.position, enable: 1, ...asRead },
        options,
      );
      return;
    case "delete-rule":
      await client.call(`DELETE ${rules}/{pos}`, { ...path, pos: change.position, ...asRead }, options);
      return;
    case "set-options":
      await client.call(
        "PUT /nodes/{node}/qemu/{vmid}/firewall/options",
        { ...path, ...change.options, ...digestOf(read.optionsDigest) },
        options,
      );
      return;
  }
}
