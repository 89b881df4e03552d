import type { FilteredServer, Firewall } from "../firewalls/firewall.ts";
import type { Tier } from "./tiers.ts";

/** All that is wanted of the networks of a region, as far as it decides what reaches what. */
export type NetworkIntent = {
  readonly subnets: readonly IntentSubnet[];
  readonly gateways: readonly IntentGateway[];
  readonly servers: readonly FilteredServer[];
  readonly firewalls: readonly Firewall[];
};

export type IntentSubnet = {
  readonly id: string;
  readonly networkId: string;
  readonly tier: Tier;
  readonly cidr: string;
  /** The address of the network's router in it. */
  readonly routerAddress: string;
};

export type IntentGateway = {
  readonly id: string;
  readonly networkId: string;
  readonly address: string;
  /** The subnets that it serves. */
  readonly subnetIds: readonly string[];
  readonly portForwards: readonly {
    readonly id: string;
    readonly protocol: "tcp" | "udp";
    readonly listenPort: number;
    readonly targetAddress: string;
    readonly targetPort: number;
  }[];
};
