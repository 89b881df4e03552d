/**
 * What other products may import of firewalls: what decides about packets, and their hooks for servers and
 * networks.
 */
export { loadIntent } from "./intent.ts";
export { firewallsOfNetworks } from "./of-networks.ts";
export { firewallsOfServers } from "./of-servers.ts";
export { questionErrors } from "./reach-question.ts";
export { refreshFilters } from "./refresh.ts";
export { mountFirewalls } from "./routes.ts";
