/** What other products may import of gateways, and their hooks for servers and networks. */
export { gatewayAddressOf, gatewaysOf } from "./intent.ts";
export { gatewaysOfNetworks } from "./of-networks.ts";
export { gatewaysOfServers } from "./of-servers.ts";
export { mountGateways } from "./routes.ts";
