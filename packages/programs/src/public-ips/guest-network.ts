// How a running guest gets its public addresses: a file of its own that survives reboots, and a command that
// applies it. Programs and arguments are fixed; the variable part is passed by standard input, made of
// addresses alone.

import type { PayloadOf } from "@kule/contract/schemas";
import type { GuestCommand } from "@kule/proxmox/guest-agent";
import { formatCidr, parseCidr, remainingBlocks } from "@kule/rules/networks/cidr";

export type GuestNetwork = PayloadOf<"PublicIpAttach">["guest_network"];
type PublicInterface = NonNullable<PayloadOf<"PublicIpAttach">["public_interface"]>;

const NETPLAN_FILE = "/etc/netplan/90-kule-public.yaml";
const PROFILE = "kule-public";
const PROFILE_FILE = `/etc/NetworkManager/system-connections/${PROFILE}.nmconnection`;

/** The content: the addresses, and the blocks of the networks that are reached by the private interfaces. */
export type GuestNetworkConfig = PublicInterface & { readonly networkCidrs: readonly string[] };

/** The configuration for a guest with this payload; null when it has no public interface. */
export function guestNetworkConfig({
  interfaces,
  public_interface: outside,
}: PayloadOf<"PublicIpAttach">): GuestNetworkConfig | null {
  if (outside === null) return null;
  return { ...outside, networkCidrs: interfaces.flatMap(({ network_cidr }) => network_cidr ?? []) };
}

/**
 * The destinations of the public interface: everything but the private networks, in blocks that are more
 * specific than the default route of the private interface, whatever its metric. That one stays as it is, and
 * leads to the networks that are left out.
 */
function everythingElse(version: 4 | 6, networkCidrs: readonly string[]): readonly string[] {
  if (version === 6) return ["::/1", "8000::/1"];
  const left = networkCidrs.map(parseCidr).filter((block) => typeof block !== "string");
  return remainingBlocks(left).map(formatCidr);
}

/**
 * The commands that configure these addresses in the guest, in their order; none for guests that cannot be
 * configured.
 */
export function configureGuestNetwork(
  tool: GuestNetwork,
  wanted: GuestNetworkConfig,
): readonly GuestCommand[] {
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

/** Ends with 0 when the guest has exactly this on its disk, and with 1 when it has something else there. */
export function compareGuestNetwork(
  tool: "netplan" | "network_manager",
  wanted: GuestNetworkConfig,
): GuestCommand {
  return tool === "netplan"
    ? { argv: ["cmp", "-s", NETPLAN_FILE, "/dev/stdin"], input: netplanOf(wanted) }
    : { argv: ["cmp", "-s", PROFILE_FILE, "/dev/stdin"], input: profileOf(wanted) };
}

/** The commands that remove the settings from the guest. */
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
function netplanOf({ mac, addresses, networkCidrs }: GuestNetworkConfig): string {
  const device = {
    match: { macaddress: mac.toLowerCase() },
    dhcp4: false,
    dhcp6: false,
    "accept-ra": false,
    addresses: addresses.map(({ address, prefix_length }) => `${address}/${prefix_length}`),
    routes: addresses.flatMap(({ version, gateway }) =>
      everythingElse(version, networkCidrs).map((to) => ({ to, via: gateway })),
    ),
  };
  return `${JSON.stringify({ network: { version: 2, ethernets: { [PROFILE]: device } } })}\n`;
}

function profileOf({ mac, addresses, networkCidrs }: GuestNetworkConfig): string {
  const section = (version: 4 | 6) => {
    const own = addresses.find((each) => each.version === version);
    if (own === undefined) return [`[ipv${version}]`, "method=disabled"];
    return [
      `[ipv${version}]`,
      "method=manual",
      `address1=${own.address}/${own.prefix_length}`,
      ...everythingElse(version, networkCidrs).map((to, index) => `route${index + 1}=${to},${own.gateway}`),
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
