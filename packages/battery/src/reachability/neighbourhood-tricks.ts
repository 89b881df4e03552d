import { arp, ethernet, ip, tokenOf, udp } from "@kule/testing/packets/frames";
import { allNodes, datagram, everybody, noMac, type Standpoint, unusedMac } from "./standpoint.ts";
import type { Trick } from "./trick.ts";

/** Messages of ARP. */
export function arpTricks(from: Standpoint): Trick[] {
  const { self, neighbour } = from;
  const claims = [
    `${from.prefix}.1`,
    `${from.prefix}.77`,
    ...(neighbour === null ? [] : [neighbour.address]),
  ];
  const say = (flow: number, mac: string, senderIp: string, operation: "request" | "reply") => [
    ethernet(
      { from: mac, to: everybody },
      "arp",
      arp({ operation, senderMac: from.mac, senderIp, targetMac: noMac, targetIp: senderIp }, flow),
    ),
  ];
  return [
    ...claims.flatMap((claim) =>
      (["request", "reply"] as const).map((operation) =>
        from.trick(`claims ${claim} by an ARP ${operation}`, (flow) => say(flow, from.mac, claim, operation)),
      ),
    ),
    from.trick("says its own address by ARP with a false MAC", (flow) =>
      say(flow, unusedMac, self.address, "reply"),
    ),
    from.trick("says its own address by ARP", (flow) => say(flow, from.mac, self.address, "reply"), {
      within: from.own,
      ...(neighbour === null ? {} : { must: neighbour.name }),
    }),
  ];
}

/** As a client and as a server of leases. */
export function leaseTricks(from: Standpoint): Trick[] {
  const { self } = from;
  const shout = (flow: number, source: string, port: number, to: number) => {
    const head = { source, destination: "255.255.255.255" };
    const body = ip(head, 17, udp(head, { from: port, to }, tokenOf(flow)));
    return [ethernet({ from: from.mac, to: everybody }, "ip", body)];
  };
  return [
    from.trick("asks for a lease", (flow) => shout(flow, "0.0.0.0", 68, 67)),
    from.trick("offers leases as the router", (flow) => shout(flow, `${from.prefix}.1`, 67, 68)),
    // Servers request none: it is a datagram like another, and goes no further.
    from.trick("offers leases as itself", (flow) => shout(flow, self.address, 67, 68), { within: from.own }),
    from.trick("offers leases of IPv6 as another", (flow) => {
      const head = { source: "fe80::66", destination: allNodes.address };
      const body = ip(head, 17, udp(head, { from: 547, to: 546 }, tokenOf(flow)));
      return [ethernet({ from: from.mac, to: allNodes.mac }, "ip6", body)];
    }),
    from.trick(
      "calls everybody of another subnet",
      (flow) => [
        ethernet({ from: from.mac, to: from.router }, "ip", datagram(flow, self.address, "10.0.2.255")),
      ],
      { within: from.own },
    ),
  ];
}
