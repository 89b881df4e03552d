import { createHash } from "node:crypto";
import type { EdgeNetwork, EdgeWiring } from "./edge-network.ts";
import { bridgeName, bridgePortName, subnetLinkName, uplinkName } from "./names.ts";

/** A link in a network's namespace, and the outside interface that it is attached to. */
export type EdgeLink = {
  readonly name: string;
  readonly on: LinkParent;
  /** The same wherever and however often the link is created: neighbours cache it. */
  readonly mac: string;
  /** In slash notation. */
  readonly address: string;
};

export type LinkParent =
  /** A tagged VLAN of an interface. */
  | { readonly kind: "vlan"; readonly interface: string; readonly vlan: number }
  /** A cable to a port of a bridge. */
  | { readonly kind: "veth"; readonly bridge: string; readonly port: string }
  /** An address of its own on an interface that others use as well. */
  | { readonly kind: "macvlan"; readonly interface: string; readonly vlan: number | null };

/** The outside interface that a link is attached to. */
export function parentName(on: LinkParent): string {
  if (on.kind === "veth") return on.bridge;
  return on.kind === "macvlan" && on.vlan !== null ? `${on.interface}.${on.vlan}` : on.interface;
}

/**
 * Whether the bridge gets a permanent entry for the port of the link's MAC. The entry of a gateway that has
 * sent nothing for a while would expire, and packets for it be flooded until it sends again.
 */
export const isPinned = ({ name, on }: EdgeLink): boolean => on.kind === "veth" && name === uplinkName;

/**
 * The links that the network should have; the uplink is last. The state must have been checked.
 *
 * @param isOnBridge whether the interface towards the internet is a bridge
 */
export function desiredLinks(
  { subnets, gateway }: EdgeNetwork,
  wiring: EdgeWiring,
  isOnBridge = false,
): readonly EdgeLink[] {
  const { trunk, uplink } = wiring;
  const links = subnets.map(
    ({ subnetId, vlan, gatewayAddress, cidr }): EdgeLink => ({
      name: subnetLinkName(vlan),
      mac: macOf(subnetId),
      on:
        trunk.mode === "vlan"
          ? { kind: "vlan", interface: trunk.interface, vlan }
          : { kind: "veth", bridge: bridgeName(wiring, vlan), port: bridgePortName(wiring, vlan) },
      address: `${gatewayAddress}/${cidr.split("/")[1]}`,
    }),
  );
  if (gateway === null) return links;
  return [
    ...links,
    {
      name: uplinkName,
      mac: macOf(gateway.gatewayId),
      // A bridge learns what is at its ports. Frames for a link on the bridge itself it floods to all ports.
      on:
        isOnBridge && gateway.vlan === null
          ? { kind: "veth", bridge: uplink.interface, port: uplinkPortName(gateway.gatewayId) }
          : { kind: "macvlan", interface: uplink.interface, vlan: gateway.vlan },
      address: `${gateway.address}/${gateway.prefixLength}`,
    },
  ];
}

/** The kernel's names have 15 characters. */
const uplinkPortName = (gatewayId: string): string =>
  `up${createHash("sha256").update(gatewayId).digest("hex").slice(0, 12)}`;

/** Locally administered, unicast, by what the link is for. */
function macOf(id: string): string {
  const bytes = createHash("sha256").update(id).digest().subarray(0, 5);
  return ["06", ...Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))].join(":");
}

/** The route to everywhere; null without a gateway. */
export function desiredRoute({
  gateway,
}: EdgeNetwork): { readonly via: string; readonly device: string } | null {
  return gateway === null ? null : { via: gateway.nextHop, device: uplinkName };
}

/**
 * The kernel settings of a link. A subnet's link answers ARP requests for addresses beyond it with the
 * router's MAC: a guest with its default route on another interface has the whole network on this one
 * (docs/adr/0027). Without delay: by default the kernel would wait up to 0.8 s. The uplink never does, or it
 * would attract others' packets.
 */
export function settingsOf({ name }: Pick<EdgeLink, "name">): Readonly<Record<string, string>> {
  const proxy = `net.ipv4.conf.${name}.proxy_arp`;
  return name === uplinkName
    ? { [proxy]: "0" }
    : { [proxy]: "1", [`net.ipv4.neigh.${name}.proxy_delay`]: "0" };
}

/** The kernel settings of a router's namespace: it forwards, validates sources, and has IPv6 off. */
export const desiredSettings: Readonly<Record<string, string>> = {
  "net.ipv4.ip_forward": "1",
  "net.ipv4.conf.all.rp_filter": "1",
  "net.ipv4.conf.default.rp_filter": "1",
  "net.ipv4.conf.all.send_redirects": "0",
  "net.ipv4.conf.default.send_redirects": "0",
  "net.ipv4.conf.all.accept_redirects": "0",
  "net.ipv4.conf.default.accept_redirects": "0",
  "net.ipv4.conf.all.accept_source_route": "0",
  "net.ipv4.conf.default.accept_source_route": "0",
  // A link answers for its own addresses only, or one network would learn of another subnet's router.
  "net.ipv4.conf.all.arp_ignore": "1",
  "net.ipv4.conf.all.arp_announce": "2",
  // Only the links of subnets answer for others: see settingsOf.
  "net.ipv4.conf.all.proxy_arp": "0",
  "net.ipv4.conf.default.proxy_arp": "0",
  // Neighbours are notified of an address that has moved to another edge.
  "net.ipv4.conf.default.arp_notify": "1",
  "net.ipv6.conf.all.disable_ipv6": "1",
  "net.ipv6.conf.default.disable_ipv6": "1",
};
