import { firewallsOfNetworks } from "./firewalls/index.ts";
import { gatewaysOfNetworks } from "./gateways/index.ts";
import { loadBalancersOfNetworks } from "./load-balancers/index.ts";
import type { NetworkHooks } from "./networks/index.ts";

/** The products that have to do with networks, in the order in which they are called. A plain list, as the job handlers. */
export const networkHooks: readonly NetworkHooks[] = [
  gatewaysOfNetworks,
  firewallsOfNetworks,
  loadBalancersOfNetworks,
];
