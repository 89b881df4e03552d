import { firewallsOfServers } from "./firewalls/index.ts";
import { gatewaysOfServers } from "./gateways/index.ts";
import { loadBalancersOfServers } from "./load-balancers/index.ts";
import { publicIpsOfServers } from "./public-ips/index.ts";
import type { ServerHooks } from "./servers/index.ts";

/**
 * The products that have to do with servers, in the order in which they are called, which is the order of their locks. A
 * plain list, as the job handlers: a product that attaches something to servers adds a line.
 */
export const serverHooks: readonly ServerHooks[] = [
  publicIpsOfServers,
  firewallsOfServers,
  gatewaysOfServers,
  loadBalancersOfServers,
];
