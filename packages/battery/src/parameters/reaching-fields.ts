import { renderIpConfig } from "@kule/proxmox/property-string";

/** Where a field of a request ends at the hypervisor, and how it is written there. */
export type Parameter = {
  readonly call: string;
  readonly parameter: string;
  readonly write: (value: string) => string;
};

const config = "POST /nodes/{node}/qemu/{vmid}/config";
const rules = "POST /nodes/{node}/qemu/{vmid}/firewall/rules";
const asItIs = (value: string) => value;
const to = (call: string, parameter: string, write: Parameter["write"] = asItIs): Parameter => ({
  call,
  parameter,
  write,
});

const name = to(config, "name");
const vmid = to("POST /nodes/{node}/qemu/{vmid}/clone", "newid");
const tag = to(config, "net0", (vlan) => `virtio=BC:24:11:00:00:01,bridge=vmbr1,firewall=1,tag=${vlan}`);
const address = to(config, "ipconfig0", (value) =>
  renderIpConfig({ address: value, prefix: 24, gateway: null }),
);
const network = to(config, "ipconfig0", (cidr) => `ip=${cidr}`);
const block = to(rules, "source");

/** The fields that reach the hypervisor as a parameter's text or a part of it. */
export const reaching: Readonly<Record<string, Parameter>> = {
  "createServer/name": name,
  "updateServer/name": name,
  "importServer/name": name,
  "importServer/vmid": vmid,
  "createServer/private_ip": address,
  "importServer/private_ip": address,
  "createOrganisation/slug": to(config, "searchdomain"),
  "createSshKey/public_key": to(config, "sshkeys", encodeURIComponent),
  "createNetwork/cidr": network,
  "createSubnet/cidr": network,
  "createSubnet/dns_servers/-": to(config, "nameserver"),
  "updateSubnet/dns_servers/-": to(config, "nameserver"),
  "createRegion/vmid_range/first": vmid,
  "createRegion/vmid_range/last": vmid,
  "updateRegion/vmid_range/first": vmid,
  "updateRegion/vmid_range/last": vmid,
  "createRegion/vlan_range/first": tag,
  "createRegion/vlan_range/last": tag,
  "updateRegion/vlan_range/first": tag,
  "updateRegion/vlan_range/last": tag,
  "createIpPool/gateway": to(config, "ipconfig0"),
  "createIpPool/prefix_length": to(config, "ipconfig0"),
  "createIpPool/vlan": tag,
  "powerServer/timeout_seconds": to("POST /nodes/{node}/qemu/{vmid}/status/shutdown", "timeout"),
  "resetServerPassword/username": to("POST /nodes/{node}/qemu/{vmid}/agent/set-user-password", "username"),
  ...Object.fromEntries(
    ["createFirewall/rules/-", "setFirewallRules/rules/-", "addFirewallRule", "updateFirewallRule"].flatMap(
      (place) => [
        [`${place}/direction`, to(rules, "type")],
        [`${place}/protocol`, to(rules, "proto")],
        [`${place}/ports/-`, to(rules, "dport", (ports) => ports.replace("-", ":"))],
        [`${place}/peers/-/cidr`, block],
      ],
    ),
  ),
};
