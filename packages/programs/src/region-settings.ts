/**
 * The settings of the region file that programs need. Read once when the agent, or the worker in direct mode,
 * starts.
 */
export type RegionSettings = {
  /** The region's slug; it is part of every VM's marker. */
  readonly region: string;
  readonly poolPrefix: string;
  /** Where disks go; null leaves them with the template. */
  readonly diskStorage: string | null;
  /** A linked clone is quicker and ties the server to its template for ever. */
  readonly fullClone: boolean;
  readonly bridge: string;
  /** How long the hypervisor may take to put into force what was written to a VM's firewall. */
  readonly firewallRoundMs: number;
  /** Where public addresses are; null when the region has none. `vlan` null: untagged. */
  readonly publicNetwork: { readonly bridge: string; readonly vlan: number | null } | null;
  /** Image slug to template. With local storage each node has a template of its own. */
  readonly templates: Readonly<Record<string, TemplateSetting>>;
  /** Nodes that new servers are spread over, by VMID; null leaves them on the template's node. */
  readonly targetNodes: readonly string[] | null;
};

export type TemplateSetting =
  | { readonly vmid: number }
  | { readonly vmidByNode: Readonly<Record<string, number>> };

/**
 * The template's VMID for a server: that of the node it was placed on, if each has its own. Two observations
 * for the same job must agree, so it depends on nothing but the settings, the job's node and the server's own
 * VMID. Null when the region has no such image.
 */
export function templateVmidFor(
  settings: RegionSettings,
  slug: string,
  serverVmid: number,
  node: string | null = null,
): number | null {
  const setting = settings.templates[slug];
  if (!setting) return null;
  if ("vmid" in setting) return setting.vmid;
  const own = node === null ? undefined : setting.vmidByNode[node];
  if (own !== undefined) return own;
  const vmids = Object.keys(setting.vmidByNode)
    .sort()
    .map((node) => setting.vmidByNode[node]);
  return vmids[serverVmid % Math.max(vmids.length, 1)] ?? null;
}

export function targetNodeFor(settings: RegionSettings, serverVmid: number): string | null {
  const nodes = [...(settings.targetNodes ?? [])].sort();
  return nodes[serverVmid % Math.max(nodes.length, 1)] ?? null;
}
