import type { NetworkHooks } from "../networks/index.ts";
import { usedByFirewall } from "./use.ts";

/** A network or a subnet that a firewall names stays. */
export const firewallsOfNetworks: NetworkHooks = { usedBy: usedByFirewall };
