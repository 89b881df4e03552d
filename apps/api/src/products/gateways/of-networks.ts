import type { NetworkHooks } from "../networks/index.ts";
import { gatewayOf } from "./payload.ts";
import { failGateway, lockBeforeNetwork, retryGateway, settleGateway } from "./settle.ts";
import { usedByGateway } from "./use.ts";

/**
 * The hooks of gateways for networks: a gateway is applied to the edge with its network, and settled with its
 * jobs.
 */
export const gatewaysOfNetworks: NetworkHooks = {
  lockBefore: lockBeforeNetwork,
  gateway: gatewayOf,
  applied: settleGateway,
  failed: failGateway,
  retried: retryGateway,
  usedBy: usedByGateway,
};
