import type { Schemas } from "@kule/contract/schemas";
import { placeOf } from "./subnet-order.ts";

export type MapServer = {
  readonly id: string;
  readonly name: string;
  readonly status: Schemas["ServerStatus"];
  readonly address: string;
  readonly publicAddresses: readonly string[];
};

export type MapSubnet = {
  readonly id: string;
  readonly name: string;
  readonly tier: Schemas["Tier"];
  readonly cidr: string;
  readonly egress: Schemas["Subnet"]["egress"];
  readonly used: number;
  readonly total: number;
  readonly servers: readonly MapServer[];
};

/** The data of a network's map. */
export type MapModel = {
  readonly name: string;
  readonly cidr: string;
  /** The gateway. */
  readonly gateway: { readonly id: string; readonly name: string; readonly address: string } | null;
  readonly subnets: readonly MapSubnet[];
  /** Networks of the same organisation and region, which are isolated from this one. */
  readonly others: readonly { readonly id: string; readonly name: string; readonly cidr: string }[];
};

export function mapModel(parts: {
  readonly network: Schemas["Network"];
  readonly subnets: readonly Schemas["Subnet"][];
  readonly servers: readonly Schemas["Server"][];
  readonly networks: readonly Schemas["Network"][];
  readonly gateway: Schemas["Gateway"] | null;
}): MapModel {
  const { network, subnets, networks, gateway } = parts;
  return {
    name: network.name,
    cidr: network.cidr,
    gateway:
      gateway === null ? null : { id: gateway.id, name: gateway.name, address: gateway.public_ip.address },
    subnets: subnets.map((subnet) => ({
      id: subnet.id,
      name: subnet.name,
      tier: subnet.tier,
      cidr: subnet.cidr,
      egress: subnet.egress,
      used: subnet.usage.addresses_used,
      total: subnet.usage.addresses_total,
      servers: serversIn(parts.servers, subnet.id),
    })),
    others: networks
      .filter(({ id, region }) => id !== network.id && region === network.region)
      .map(({ id, name, cidr }) => ({ id, name, cidr })),
  };
}

/** In the order of their addresses. */
export function serversIn(servers: readonly Schemas["Server"][], subnetId: string): MapServer[] {
  return servers
    .flatMap((server) =>
      server.interfaces
        .filter((nic) => nic.subnet_id === subnetId)
        .map((nic) => ({
          id: server.id,
          name: server.name,
          status: server.status,
          address: nic.private_ip,
          // A public address has an interface of its own; the map shows it at the server's first address.
          publicAddresses: nic.primary ? server.public_ips.map(({ address }) => address) : [],
        })),
    )
    .toSorted((one, other) => placeOf(one.address) - placeOf(other.address));
}
