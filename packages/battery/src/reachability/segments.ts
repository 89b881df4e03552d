import type { PlaceSeen } from "@kule/testing/packets/volley";
import type { Topology, TopologyServer } from "./topology.ts";

/** A cable or a VLAN: every machine on it may receive what a switch floods there. */
export type Segment = string;
export const publicSegment: Segment = "public";
export const segmentOfVlan = (vlan: number): Segment => `VLAN ${vlan}`;

/** What is connected where, and with which MACs. */
export class Cabling {
  readonly #seen: ReadonlyMap<string, PlaceSeen>;
  readonly #segments = new Map<string, Segment>();
  readonly #topology: Topology;

  /** @param others places that are no servers, with the segment of their only device */
  constructor(topology: Topology, seen: readonly PlaceSeen[], others: Readonly<Record<string, Segment>>) {
    this.#topology = topology;
    this.#seen = new Map(seen.map((each) => [each.name, each]));
    for (const server of topology.servers) {
      this.#segments.set(`${server.name} eth0`, this.segmentOf(server));
      this.#segments.set(`${server.name} eth1`, publicSegment);
    }
    for (const [name, segment] of Object.entries(others)) this.#segments.set(`${name} eth0`, segment);
  }

  /** Of the server's private device. */
  segmentOf({ subnetId }: Pick<TopologyServer, "subnetId">): Segment {
    const subnet = this.#topology.subnets.find(({ id }) => id === subnetId);
    if (subnet === undefined) throw new Error(`${subnetId} is no subnet`);
    return segmentOfVlan(subnet.vlan);
  }

  segmentAt(place: string, device: string): Segment {
    return this.#segments.get(`${place} ${device}`) ?? "nowhere";
  }

  /** The segments that a packet of this sender may be on at all: its own network's, and the public one. */
  mayPass(sender: TopologyServer | null): ReadonlySet<Segment> {
    const own = this.#topology.subnets.filter(
      ({ networkId }) => sender === null || networkId === sender.networkId,
    );
    return new Set([publicSegment, ...own.map(({ vlan }) => segmentOfVlan(vlan))]);
  }

  macOf(place: string, device = "eth0"): string {
    const mac = this.#seen.get(place)?.devices.find((each) => each.device === device)?.mac;
    if (mac === undefined) throw new Error(`${place} has no ${device}`);
    return mac;
  }

  /** Without its zone. */
  linkLocalOf(place: string, device = "eth0"): string {
    const own = this.#seen.get(place)?.devices.find((each) => each.device === device)?.addresses ?? [];
    const address = own.find((each) => each.startsWith("fe80"));
    if (address === undefined) throw new Error(`${place} has no address of its link on ${device}`);
    return address.split("%")[0] ?? "";
  }
}
