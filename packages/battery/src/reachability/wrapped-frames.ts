import { arp, ethernet, icmp, inSession, ip, type Tag, tokenOf } from "@kule/testing/packets/frames";
import type { Cabling } from "./segments.ts";
import { allNodes, datagram, everybody, noMac, type Standpoint } from "./standpoint.ts";
import type { Topology } from "./topology.ts";
import type { Trick } from "./trick.ts";

/**
 * Tags that a guest ignores, and that a node's firewall does not look behind: of a priority alone, one behind
 * the other, and of the other standard.
 */
const priorityTags: readonly (readonly [name: string, tags: readonly Tag[]])[] = [
  ["a priority tag", [0]],
  ["a priority tag of 7", [0xe000]],
  ["two priority tags", [0, 0]],
  ["three priority tags", [0, 0, 0]],
  ["a priority tag of 802.1ad", [{ is: "802.1ad", vlan: 0 }]],
];

/** Tags of a frame that comes out of the VM: a guest must not send any tagged frame. */
export function wrappedFrames(from: Standpoint): Trick[] {
  const { self, topology } = from;
  const own = topology.subnets.find(({ id }) => id === self.subnetId);
  const foreign = topology.subnets.filter(({ id }) => id !== own?.id).map(({ vlan }) => vlan);
  const strayed = [...foreign, 10].map((tag) =>
    from.trick(`with the tag of VLAN ${tag}`, (flow) => [
      ethernet(
        { from: from.mac, to: everybody, tags: [tag] },
        "ip",
        datagram(flow, self.address, "255.255.255.255"),
      ),
    ]),
  );
  const address = from.neighbour?.address ?? `${from.prefix}.9`;
  const session = (flow: number) => inSession(datagram(flow, `${from.prefix}.77`, address));
  return [
    ...strayed,
    ...priorityTags.flatMap(([name, tags]) => prioritized(from, name, tags)),
    from.trick("with a packet in a session of PPPoE", (flow) => [
      ethernet({ from: from.mac, to: everybody }, "pppoe", session(flow)),
    ]),
    from.trick("with what is neither IPv4 nor IPv6", (flow) => [
      ethernet({ from: from.mac, to: everybody }, "nobodys", tokenOf(flow)),
    ]),
  ];
}

function prioritized(from: Standpoint, name: string, tags: readonly Tag[]): Trick[] {
  const { self, cousin } = from;
  const sources = [self.address, `${from.prefix}.77`, cousin?.address ?? "10.0.9.9"];
  const claim = `${from.prefix}.1`;
  return [
    ...from.targets.flatMap(({ how, mac, address }) =>
      sources
        .filter((source) => source !== address)
        .flatMap((source) =>
          // For an unknown receiver the frame is broadcast.
          [mac, everybody].map((to) =>
            from.trick(
              `with ${name} as ${source} ${how}${to === everybody ? " and everybody" : ""}`,
              (flow) => [ethernet({ from: from.mac, to, tags }, "ip", datagram(flow, source, address, 22))],
            ),
          ),
        ),
    ),
    from.trick(`with ${name} claims ${claim} by ARP`, (flow) => [
      ethernet(
        { from: from.mac, to: everybody, tags },
        "arp",
        arp(
          { operation: "reply", senderMac: from.mac, senderIp: claim, targetMac: noMac, targetIp: claim },
          flow,
        ),
      ),
    ]),
    from.trick(`with ${name} and a router advertisement`, (flow) => {
      const head = { source: from.cabling.linkLocalOf(self.name), destination: allNodes.address, hops: 255 };
      const body = Buffer.concat([Buffer.alloc(12), Buffer.from([253, 1]), tokenOf(flow)]);
      const packet = ip(head, 58, icmp(head, 134, 0, body));
      return [ethernet({ from: from.mac, to: allNodes.mac, tags }, "ip6", packet)];
    }),
  ];
}

/** From a machine without any filter, as on an unfiltered node: no server receives any of them. */
export function wrappedFromRogue(
  topology: Topology,
  cabling: Cabling,
  { place, subnetId }: { readonly place: string; readonly subnetId: string },
): Trick[] {
  const mac = cabling.macOf(place);
  const around = topology.servers.filter((each) => each.subnetId === subnetId);
  return around.flatMap((server) =>
    priorityTags.map(([name, tags]): Trick => {
      const source = server.address.replace(/\d+$/, "77");
      return {
        ...{ name: `${place} with ${name} to ${server.name}`, place, device: "eth0" },
        ...{ within: cabling.segmentOf({ subnetId }), mustNot: server.name },
        frames: (flow) => [
          ethernet(
            { from: mac, to: cabling.macOf(server.name), tags },
            "ip",
            datagram(flow, source, server.address),
          ),
        ],
      };
    }),
  );
}
