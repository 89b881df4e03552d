import { arp, ethernet, icmp, ip, syn, tokenOf } from "@kule/testing/packets/frames";
import { outside } from "./packet-scene.ts";
import { internetPlace } from "./questions.ts";
import { type Cabling, publicSegment } from "./segments.ts";
import { datagram, everybody, gatewayAddresses, noMac, type RouterMacs } from "./standpoint.ts";
import type { Topology } from "./topology.ts";
import type { Trick } from "./trick.ts";
import { wrappedFromRogue } from "./wrapped-frames.ts";

const connection = (flow: number, source: string, destination: string, port = 80): Buffer => {
  const head = { source, destination };
  return ip(head, 6, syn(head, { from: flow, to: port }));
};
const frameOf = (from: string, to: string, packet: Buffer) =>
  ethernet({ from, to }, (packet[0] ?? 0) >> 4 === 4 ? "ip" : "ip6", packet);

/** Frames that a server sends on its interface in the public network. */
export function publicTricks(topology: Topology, cabling: Cabling, routers: RouterMacs): Trick[] {
  const withPublic = topology.servers.filter(({ publicAddresses }) => publicAddresses.length > 0);
  return withPublic.flatMap((self) => {
    const mac = cabling.macOf(self.name, "eth1");
    const nextHop = cabling.macOf(internetPlace);
    const others = withPublic.filter(({ id }) => id !== self.id);
    const theirs = others.flatMap(({ publicAddresses }) => publicAddresses);
    const trick = (what: string, frames: Trick["frames"], within: Trick["within"] = null): Trick => ({
      ...{ name: `${self.name} outside ${what}`, place: self.name, device: "eth1", frames, within },
    });
    const lies = [
      ...[self.address, "10.0.1.99", "203.0.113.77", outside.nextHops[4]],
      ...[...gatewayAddresses(topology), ...theirs],
    ];
    const lies6 = ["fd00::5", "fe80::66", "2001:db8:7::77", outside.nextHops[6]];
    return [
      ...[...lies, ...lies6].flatMap((source) => {
        const version = source.includes(":") ? 6 : 4;
        return [
          trick(`with the false source ${source} to the internet`, (flow) => [
            frameOf(mac, nextHop, datagram(flow, source, outside.beyond[version])),
          ]),
          ...others.flatMap((other) =>
            other.publicAddresses
              .filter((address) => address.includes(":") === (version === 6) && address !== source)
              .map((address) =>
                trick(`with the false source ${source} to ${other.name}`, (flow) => [
                  frameOf(mac, cabling.macOf(other.name, "eth1"), datagram(flow, source, address)),
                ]),
              ),
          ),
        ];
      }),
      ...self.publicAddresses.map((own) =>
        trick(`with a false MAC from ${own} to the internet`, (flow) => [
          frameOf(
            "02:00:00:00:00:66",
            nextHop,
            datagram(flow, own, outside.beyond[own.includes(":") ? 6 : 4]),
          ),
        ]),
      ),
      ...[
        outside.nextHops[4],
        ...gatewayAddresses(topology),
        ...theirs.filter((each) => !each.includes(":")),
      ].map((claim) =>
        trick(`claims ${claim} by ARP`, (flow) => [
          ethernet(
            { from: mac, to: everybody },
            "arp",
            arp(
              { operation: "reply", senderMac: mac, senderIp: claim, targetMac: noMac, targetIp: claim },
              flow,
            ),
          ),
        ]),
      ),
      trick("with a router advertisement", (flow) => {
        const head = { source: cabling.linkLocalOf(self.name, "eth1"), destination: "ff02::1", hops: 255 };
        const body = Buffer.concat([Buffer.alloc(12), Buffer.from([253, 1]), tokenOf(flow)]);
        const packet = ip(head, 58, icmp(head, 134, 0, body));
        return [ethernet({ from: mac, to: "33:33:00:00:00:01" }, "ip6", packet)];
      }),
      ...self.publicAddresses
        .filter((own) => !own.includes(":"))
        .flatMap((own) =>
          insideBy(topology, routers).map(({ what, to, address }) =>
            trick(what, (flow) => [frameOf(mac, to, datagram(flow, own, address))], publicSegment),
          ),
        ),
    ];
  });
}

/** Ways to inside addresses past the ports that are forwarded: by the MAC of a gateway's uplink. */
function insideBy({ servers }: Topology, { uplink }: RouterMacs) {
  return [...uplink].flatMap(([networkId, to]) =>
    servers
      .filter((each) => each.networkId === networkId)
      .map((each) => ({ what: `to ${each.name} by its gateway's MAC`, to, address: each.address })),
  );
}

/** Frames that an attacker in the internet sends from the gateways' own segment. */
export function internetTricks(topology: Topology, cabling: Cabling, routers: RouterMacs): Trick[] {
  const mac = cabling.macOf(internetPlace);
  const trick = (what: string, frames: Trick["frames"]): Trick => ({
    ...{ name: `the internet ${what}`, place: internetPlace, device: "eth0", frames, within: publicSegment },
  });
  return [
    ...insideBy(topology, routers).flatMap(({ what, to, address }) =>
      [outside.beyond[4], outside.nextHops[4], "10.0.1.2", "10.0.3.2", "203.0.113.16"].flatMap((source) => [
        trick(`${what} from ${source} by udp`, (flow) => [frameOf(mac, to, datagram(flow, source, address))]),
        trick(`${what} from ${source} by tcp`, (flow) => [
          frameOf(mac, to, connection(flow, source, address)),
        ]),
      ]),
    ),
    ...topology.intent.gateways.flatMap(({ networkId, address, portForwards }) =>
      portForwards.flatMap(({ protocol, listenPort }) =>
        ["10.0.1.2", "10.0.2.3", "10.0.3.2"].map((source) =>
          trick(
            `with the inside source ${source} to the forwarded port ${protocol} ${listenPort}`,
            (flow) => {
              const packet = (protocol === "udp" ? datagram : connection)(flow, source, address, listenPort);
              return [frameOf(mac, routers.uplink.get(networkId) ?? noMac, packet)];
            },
          ),
        ),
      ),
    ),
  ];
}

/** A machine in a subnet's VLAN without any VM's firewall: only the edge can stop it. */
export type Rogue = { readonly place: string; readonly subnetId: string };

export function rogueTricks(
  topology: Topology,
  cabling: Cabling,
  routers: RouterMacs,
  rogues: readonly Rogue[],
): Trick[] {
  return rogues.flatMap(({ place, subnetId }) => {
    const mac = cabling.macOf(place);
    const subnet = topology.subnets.find(({ id }) => id === subnetId);
    if (subnet === undefined) throw new Error(`${subnetId} is no subnet`);
    const router = routers.inside.get(subnetId) ?? noMac;
    const segment = cabling.segmentOf({ subnetId });
    const trick = (what: string, frames: Trick["frames"]): Trick => ({
      ...{ name: `${place} ${what}`, place, device: "eth0", frames, within: segment },
    });
    const elsewhere = topology.servers.filter(
      (each) => each.networkId === subnet.networkId && each.subnetId !== subnetId,
    );
    const lies = [
      ...elsewhere.map(({ address }) => address),
      ...[outside.beyond[4], "127.0.0.1", "192.168.7.7", "10.0.9.9"],
      ...gatewayAddresses(topology),
    ];
    const here = `${subnet.cidr.split(".").slice(0, 3).join(".")}.77`;
    const outward = [
      outside.beyond[4],
      outside.nextHops[4],
      ...topology.servers.flatMap((each) => each.publicAddresses),
    ];
    return [
      ...lies.flatMap((source) =>
        [...elsewhere.slice(0, 3).map(({ address }) => address), outside.beyond[4]]
          .filter((to) => to !== source)
          .map((to) =>
            trick(`with the false source ${source} to ${to}`, (flow) => [
              frameOf(mac, router, datagram(flow, source, to)),
            ]),
          ),
      ),
      ...(subnet.tier === "data" ? outward : [])
        .filter((to) => !to.includes(":"))
        .flatMap((to) => [
          trick(`out of the data subnet to ${to} by udp`, (flow) => [
            frameOf(mac, router, datagram(flow, here, to)),
          ]),
          trick(`out of the data subnet to ${to} by tcp`, (flow) => [
            frameOf(mac, router, connection(flow, here, to)),
          ]),
        ]),
      ...["192.168.7.7", "10.77.0.2", "172.16.0.9", "100.64.0.9"].map((to) =>
        trick(`to somebody's inside address ${to}`, (flow) => [
          frameOf(mac, router, datagram(flow, here, to)),
        ]),
      ),
      trick("with IPv6 by the router", (flow) => [
        frameOf(mac, router, datagram(flow, "2001:db8:7::66", outside.beyond[6])),
      ]),
      ...wrappedFromRogue(topology, cabling, { place, subnetId }),
    ];
  });
}
