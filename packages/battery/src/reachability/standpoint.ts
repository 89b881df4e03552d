import { isAttached } from "@kule/rules/firewalls/firewall";
import { ip, tokenOf, udp } from "@kule/testing/packets/frames";
import { outside } from "./packet-scene.ts";
import type { Cabling } from "./segments.ts";
import type { Topology, TopologyServer } from "./topology.ts";
import type { Trick } from "./trick.ts";

export const everybody = "ff:ff:ff:ff:ff:ff";
export const allNodes = { mac: "33:33:00:00:00:01", address: "ff02::1" };
export const unusedMac = "02:00:00:00:00:66";
export const noMac = "00:00:00:00:00:00";

/** A packet of UDP with the number, of either version. */
export function datagram(flow: number, source: string, destination: string, port = 53): Buffer {
  const head = { source, destination };
  return ip(head, 17, udp(head, { from: flow, to: port }, tokenOf(flow)));
}

/** The MACs that the edge generates. */
export type RouterMacs = {
  /** By the subnet that it is the router of. */
  readonly inside: ReadonlyMap<string, string>;
  /** By the network whose gateway it is. */
  readonly uplink: ReadonlyMap<string, string>;
};

/** The gateways' addresses, or one that could be. */
export function gatewayAddresses({ intent: { gateways } }: Topology): string[] {
  return gateways.length === 0 ? ["203.0.113.40"] : gateways.map(({ address }) => address);
}

/** Whether its firewall allows unsolicited packets. */
const isOpen = ({ intent }: Topology, { id }: TopologyServer): boolean => {
  const server = intent.servers.find((each) => each.id === id);
  return server !== undefined && !intent.firewalls.some((firewall) => isAttached(firewall, server));
};

/** What a server with root access knows of its neighbours on its private interface. */
export class Standpoint {
  readonly topology: Topology;
  readonly cabling: Cabling;
  readonly routers: RouterMacs;
  readonly self: TopologyServer;
  readonly mac: string;
  /** Its router's. */
  readonly router: string;
  /** In its subnet; the first of those that let everything in, if there is one. */
  readonly neighbour: TopologyServer | null;
  /** In another subnet of its network. */
  readonly cousin: TopologyServer | null;
  /** In other networks, of any organisation. */
  readonly strangers: readonly TopologyServer[];

  constructor(topology: Topology, cabling: Cabling, routers: RouterMacs, self: TopologyServer) {
    this.topology = topology;
    this.cabling = cabling;
    this.routers = routers;
    this.self = self;
    this.mac = cabling.macOf(self.name);
    this.router = routers.inside.get(self.subnetId) ?? noMac;
    const openFirst = (all: readonly TopologyServer[]) =>
      all.find((each) => isOpen(topology, each)) ?? all[0] ?? null;
    const others = topology.servers.filter(({ id }) => id !== self.id);
    this.neighbour = openFirst(others.filter(({ subnetId }) => subnetId === self.subnetId));
    this.cousin = openFirst(
      others.filter((each) => each.networkId === self.networkId && each.subnetId !== self.subnetId),
    );
    this.strangers = others.filter((each) => each.networkId !== self.networkId);
  }

  /** By default one that must not leave its cable. */
  trick(
    what: string,
    frames: Trick["frames"],
    more: Partial<Pick<Trick, "within" | "must" | "mustNot">> = {},
  ): Trick {
    const name = `${this.self.name} ${what}`;
    return { name, place: this.self.name, device: "eth0", frames, within: null, ...more };
  }

  /** The segment of its subnet. */
  get own() {
    return this.cabling.segmentOf(this.self);
  }

  /** The first three numbers of its subnet's addresses. */
  get prefix(): string {
    return this.self.address.split(".").slice(0, 3).join(".");
  }

  /** The possible receivers and the way to them: directly, or by the router. */
  get targets(): readonly { readonly how: string; readonly mac: string; readonly address: string }[] {
    const { neighbour, cousin, router } = this;
    return [
      ...(neighbour === null
        ? []
        : [
            {
              how: "to its neighbour",
              mac: this.cabling.macOf(neighbour.name),
              address: neighbour.address,
            },
          ]),
      ...(cousin === null ? [] : [{ how: "to another subnet", mac: router, address: cousin.address }]),
      { how: "to the internet", mac: router, address: outside.beyond[4] },
    ];
  }

  /** Addresses that are not its own. */
  get lies(): readonly string[] {
    const { neighbour, cousin, prefix, self, topology } = this;
    return [
      `${prefix}.77`,
      `${prefix}.1`,
      ...(neighbour === null ? [] : [neighbour.address]),
      ...(cousin === null ? [] : [cousin.address]),
      outside.beyond[4],
      outside.nextHops[4],
      ...gatewayAddresses(topology),
      ...topology.servers
        .flatMap(({ publicAddresses }) => publicAddresses)
        .filter((address) => !address.includes(":") && !self.publicAddresses.includes(address))
        .slice(0, 1),
      "0.0.0.0",
      "127.0.0.1",
      "192.168.7.7",
    ];
  }
}
