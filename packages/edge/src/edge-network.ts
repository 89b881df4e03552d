import type { Tier } from "@kule/rules/networks/tiers";

/** One private network as the edge should have it: complete, so that everything else of it is deleted. */
export type EdgeNetwork = {
  /** `net_…`; names its namespace. */
  readonly networkId: string;
  /** Counts up with every change of the intent; an older state never replaces a newer one. */
  readonly generation: number;
  readonly subnets: readonly EdgeSubnet[];
  readonly gateway: EdgeGateway | null;
};

export type EdgeSubnet = {
  /** `sub_…` */
  readonly subnetId: string;
  readonly tier: Tier;
  /** 1 to 4094, of one subnet in the region. */
  readonly vlan: number;
  /** IPv4, in slash notation. */
  readonly cidr: string;
  /** The subnet's own address for its router. */
  readonly gatewayAddress: string;
};

export type EdgeGateway = {
  /** `gw_…` */
  readonly gatewayId: string;
  /** The public address that everything leaves with. */
  readonly address: string;
  readonly prefixLength: number;
  /** The next router; on the uplink. */
  readonly nextHop: string;
  /** Of the uplink; null: untagged. */
  readonly vlan: number | null;
  /** The subnets that reach the internet through it; never one of tier `data`. */
  readonly subnetIds: readonly string[];
  readonly portForwards: readonly PortForward[];
};

export type PortForward = {
  readonly protocol: "tcp" | "udp";
  /** Of the gateway's address. */
  readonly listenPort: number;
  readonly targetAddress: string;
  readonly targetPort: number;
};

/** Where the edge of a region is connected, as its region file says. */
export type EdgeWiring = {
  /** Towards the internet. */
  readonly uplink: { readonly interface: string };
  /**
   * Towards the servers. `vlan`: one interface that carries all VLANs tagged. `bridge`: a bridge for each VLAN, named
   * after the interface as Proxmox VE names them: `vmbr1v101`.
   */
  readonly trunk: { readonly interface: string; readonly mode: "vlan" | "bridge" };
};
