// How a running guest is told of its public addresses: a file of its own that survives reboots, and a command that
// takes it up. Programs and arguments are fixed; what varies goes in by standard input, made of addresses alone.

import type { PayloadOf } from "@kule/contract/schemas";
import type { GuestCommand } from "@kule/proxmox/guest-agent";

export type GuestNetwork = PayloadOf<"PublicIpAttach">["guest_network"];
type PublicInterface = NonNullable<PayloadOf<"PublicIpAttach">["public_interface"]>;

const NETPLAN_FILE = "/etc/netplan/90-kule-public.yaml";
const PROFILE = "kule-public";
const PROFILE_FILE = `/etc/NetworkManager/system-connections/${PROFILE}.nmconnection`;

/**
 * Two halves of everything instead of a second default route: they go before the one of the private network, whatever
 * its metric, and leave it as it is.
 */
const everything = { 4: ["0.0.0.0/1", "128.0.0.0/1"], 6: ["::/1", "8000::/1"] } as const;

/** The commands that give the guest these addresses, in their order; none for guests that cannot be told. */
export function tellGuest(tool: GuestNetwork, wanted: PublicInterface): readonly GuestCommand[] {
  switch (tool) {
    case "netplan":
      return [
        { argv: ["install", "-m", "0600", "/dev/stdin", NETPLAN_FILE], input: netplanOf(wanted) },
        { argv: ["netplan", "apply"] },
      ];
    case "network_manager":
      return [
        { argv: ["install", "-m", "0600", "/dev/stdin", PROFILE_FILE], input: profileOf(wanted) },
        { argv: ["nmcli", "connection", "reload"] },
        { argv: ["nmcli", "connection", "up", PROFILE] },
      ];
    case "none":
      return [];
  }
}

/** The commands that make the guest forget. */
export function clearGuest(tool: GuestNetwork): readonly GuestCommand[] {
  switch (tool) {
    case "netplan":
      return [{ argv: ["rm", "-f", NETPLAN_FILE] }, { argv: ["netplan", "apply"] }];
    case "network_manager":
      return [{ argv: ["nmcli", "connection", "delete", PROFILE] }];
    case "none":
      return [];
  }
}

/** JSON is YAML, and cannot be read as anything else. */
function netplanOf({ mac, addresses }: PublicInterface): string {
  const device = {
    match: { macaddress: mac.toLowerCase() },
    dhcp4: false,
    dhcp6: false,
    "accept-ra": false,
    addresses: addresses.map(({ address, prefix_length }) => `${address}/${prefix_length}`),
    routes: addresses.flatMap(({ version, gateway }) =>
      everything[version].map((to) => ({ to, via: gateway })),
    ),
  };
  return `${JSON.stringify({ network: { version: 2, ethernets: { [PROFILE]: device } } })}\n`;
}

function profileOf({ mac, addresses }: PublicInterface): string {
  const section = (version: 4 | 6) => {
    const own = addresses.find((each) => each.version === version);
    if (own === undefined) return [`[ipv${version}]`, "method=disabled"];
    return [
      `[ipv${version}]`,
      "method=manual",
      `address1=${own.address}/${own.prefix_length}`,
      ...everything[version].map((to, index) => `route${index + 1}=${to},${own.gateway}`),
    ];
  };
  return [
    "[connection]",
    `id=${PROFILE}`,
    "type=ethernet",
    "autoconnect=true",
    "[ethernet]",
    `mac-address=${mac.toUpperCase()}`,
    ...section(4),
    ...section(6),
    "",
  ].join("\n");
}
