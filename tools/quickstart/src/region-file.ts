import { writeFileSync } from "node:fs";
import { publicNetwork } from "./public-addresses.ts";

/** The lab's description of itself in lab.json. */
export interface LabDescription {
  url: string;
  /** Of its TLS certificate, as pairs of hexadecimal digits with colons. */
  fingerprint256: string;
  /** USER@REALM!NAME=SECRET */
  token: string;
  /** Why its machines have no network; absent when they have one. */
  without_wires?: string;
  /** The machine that routes between its networks, where there are packets to route. */
  edge?: { host: string; port: number; user: string; host_key: string; key_file: string };
}

/** Numbers of the lab's templates (packages/lab), by image of the catalogue or appliance. */
const templates: Record<string, number> = {
  "ubuntu-24.04": 9000,
  "ubuntu-22.04": 9001,
  "debian-12": 9002,
  "debian-13": 9003,
  "rocky-9": 9004,
  "windows-2022": 9005,
  "windows-2025": 9006,
  "kule-lb": 9007,
};

/** Writes the region file with which the agent drives the lab, in the form that an operator would write. */
export function writeRegionFile(
  path: string,
  region: string,
  apiUrl: string,
  lab: LabDescription,
  firewallRoundSeconds: number,
): void {
  const lines = [
    "# The lab region of `npm start`, written at every start. docs/region-file.md explains every key.",
    `region: ${region}`,
    `control_plane: ${apiUrl}`,
    "hypervisor:",
    "  kind: proxmox",
    `  endpoints: [${lab.url}]`,
    "  token_env: KULE_PVE_TOKEN",
    `  tls: { fingerprints: ["${lab.fingerprint256}"] }`,
    "  pool_prefix: kule",
    `  firewall_round_seconds: ${firewallRoundSeconds}`,
    "  node_filter: true",
    "  vmid_range: 20000-29999",
    "storage: { disks: ceph-vm, cloudinit: ceph-vm }",
    "network:",
    "  bridge: vmbr1",
    "  vlan_range: 100-999",
    `  public: { bridge: ${publicNetwork.bridge}, vlan: ${publicNetwork.vlan} }`,
    "templates:",
    ...Object.entries(templates).map(([image, vmid]) => `  ${image}: { vmid: ${vmid} }`),
    ...edgeLines(lab),
  ];
  writeFileSync(path, `${lines.join("\n")}\n`);
}

/** Its uplink is the lab's public network; the lab has a bridge for each private VLAN. */
function edgeLines({ edge }: LabDescription): string[] {
  if (edge === undefined) return [];
  const { bridge, vlan } = publicNetwork;
  return [
    "edge:",
    "  kind: linux",
    "  transport: ssh",
    `  host: ${edge.host}`,
    `  port: ${edge.port}`,
    `  user: ${edge.user}`,
    `  host_key: "${edge.host_key}"`,
    // JSON is YAML, whatever the path has in it.
    `  key_file: ${JSON.stringify(edge.key_file)}`,
    `  uplink: { interface: ${bridge}v${vlan} }`,
    "  trunk: { interface: vmbr1, mode: bridge }",
  ];
}
