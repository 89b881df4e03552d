import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { findNetwork } from "../networks/index.ts";
import { checkExplainNetwork, explainNetwork } from "./explain-network.ts";

/** Which servers of a network reach which: answered from networks, gateways and firewalls together. */
export function mountReachability(api: Api): void {
  operation(api, "explainNetwork", {
    find: (request) => findNetwork(request.db, request.organisationId, request.pathId("network_id", "net")),
    check: checkExplainNetwork,
    handle: explainNetwork,
  });
}
