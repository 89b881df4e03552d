/** What a region was registered with. */
export type RegisteredRegion = {
  readonly slug: string;
  readonly apiUrl: string;
  readonly vmids: { readonly first: number; readonly last: number };
  readonly vlans: { readonly first: number; readonly last: number };
};

/** A region file to begin with: what is known is filled in, and each line with CHANGE is the cluster's. */
export function regionFileSkeleton({ slug, apiUrl, vmids, vlans }: RegisteredRegion): string {
  return `# The region ${slug}: docs/region-file.md explains every key. Check it with: kule-agent check ${slug}.yaml
region: ${slug}
control_plane: ${apiUrl} # the agent's token is in KULE_AGENT_TOKEN

hypervisor:
  kind: proxmox
  endpoints: [https://pve1.example:8006] # CHANGE: the cluster's nodes
  token_env: KULE_PVE_TOKEN # holds USER@REALM!NAME=SECRET
  tls:
    fingerprints: # CHANGE: of each node's certificate; or ca: pve-root-ca.pem
      - "00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00"
  vmid_range: ${vmids.first}-${vmids.last} # as registered; nobody else may use these

storage:
  disks: local-lvm # CHANGE: the storage of the servers' disks

network:
  bridge: vmbr1 # CHANGE: a VLAN-aware bridge
  vlan_range: ${vlans.first}-${vlans.last} # as registered

templates: # CHANGE: image slug of the catalogue: the template it is cloned from
  debian-13: { vmid: 9001 }
`;
}
