import type { Surroundings } from "../firewalls/compile.ts";
import type { FilteredServer } from "../firewalls/firewall.ts";
import type { IpAddress } from "../public-ips/addresses.ts";
import { addressOf, contains, isSame, rangeOf } from "./address-text.ts";
import type { IntentGateway, IntentSubnet, NetworkIntent } from "./intent.ts";

/** Look-ups in the intent for evaluating a packet's way. */
export class IntentIndex {
  readonly #intent: NetworkIntent;
  readonly around: Surroundings;

  constructor(intent: NetworkIntent) {
    this.#intent = intent;
    this.around = {
      firewalls: intent.firewalls,
      servers: intent.servers,
      subnets: intent.subnets.map(({ id, networkId, cidr }) => ({ id, networkId, block: rangeOf(cidr) })),
    };
  }

  /** @throws RangeError for one that is not in the intent */
  server(id: string): FilteredServer {
    const server = this.#intent.servers.find((each) => each.id === id);
    if (server === undefined) throw new RangeError(`${id} is no server of the intent`);
    return server;
  }

  /** @throws RangeError for one that is not in the intent */
  subnet(id: string): IntentSubnet {
    const subnet = this.#intent.subnets.find((each) => each.id === id);
    if (subnet === undefined) throw new RangeError(`${id} is no subnet of the intent`);
    return subnet;
  }

  /** The subnet of its first interface. */
  homeOf({ interfaces }: FilteredServer): IntentSubnet | null {
    const [first] = interfaces;
    return first === undefined ? null : this.subnet(first.subnetId);
  }

  /** The subnet of the network that the address is in. */
  subnetAround(networkId: string, address: IpAddress): IntentSubnet | null {
    const found = this.#intent.subnets.find(
      (each) => each.networkId === networkId && contains(rangeOf(each.cidr), address),
    );
    return found ?? null;
  }

  serverAt(subnet: IntentSubnet, address: IpAddress): FilteredServer | null {
    const found = this.#intent.servers.find((server) =>
      server.interfaces.some(
        (each) =>
          each.subnetId === subnet.id &&
          (isSame(addressOf(each.address), address) || isShared(server, address)),
      ),
    );
    return found ?? null;
  }

  serverWithPublic(address: IpAddress): FilteredServer | null {
    const found = this.#intent.servers.find(
      (server) =>
        server.publicAddresses.some((each) => isSame(addressOf(each), address)) || isShared(server, address),
    );
    return found ?? null;
  }

  gatewayOf(networkId: string): IntentGateway | null {
    return this.#intent.gateways.find((each) => each.networkId === networkId) ?? null;
  }

  gatewayAt(address: IpAddress): IntentGateway | null {
    return this.#intent.gateways.find((each) => isSame(addressOf(each.address), address)) ?? null;
  }
}

/** Of the two servers of a load balancer the first stands for both: the same firewalls are attached to them. */
const isShared = ({ sharedAddresses = [] }: FilteredServer, address: IpAddress): boolean =>
  sharedAddresses.some((each) => isSame(addressOf(each), address));
