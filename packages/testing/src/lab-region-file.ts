/** The machine that routes a lab's networks, as lab.json describes it. */
export type LabEdge = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly host_key: string;
  readonly key_file: string;
};

/** The region file of an agent that drives a lab; its hypervisor token is in KULE_PVE_TOKEN. */
export function renderLabRegionFile(
  apiUrl: string,
  lab: { readonly url: string; readonly fingerprint256: string },
  agentName: string | null = null,
  edge: LabEdge | null = null,
): string {
  return `region: lab1
control_plane: ${apiUrl}
hypervisor:
  kind: proxmox
  endpoints: [${lab.url}]
  token_env: KULE_PVE_TOKEN
  tls: { fingerprints: ["${lab.fingerprint256}"] }
  pool_prefix: kule
  firewall_round_seconds: 0
  node_filter: true
  vmid_range: 20000-29999
storage: { disks: ceph-vm, cloudinit: ceph-vm }
network: { bridge: vmbr1, vlan_range: 100-999, public: { bridge: vmbr0, vlan: 10 } }
templates:
  ubuntu-24.04: { vmid: 9000 }
  debian-12: { vmid: 9002 }
  windows-2022: { vmid: 9005 }
  kule-lb: { vmid: 9007 }
${
  agentName === null
    ? ""
    : `agent: { name: ${agentName} }
`
}${
  edge === null
    ? ""
    : `edge:
  kind: linux
  transport: ssh
  host: ${edge.host}
  port: ${edge.port}
  user: ${edge.user}
  host_key: "${edge.host_key}"
  key_file: ${JSON.stringify(edge.key_file)}
  uplink: { interface: vmbr0v10 }
  trunk: { interface: vmbr1, mode: bridge }
`
}`;
}
