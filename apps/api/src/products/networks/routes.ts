import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { checkCreateNetwork, createNetwork } from "./create-network.ts";
import { checkCreateSubnet, createSubnet } from "./create-subnet.ts";
import { deleteNetwork } from "./delete-network.ts";
import { deleteSubnet } from "./delete-subnet.ts";
import { checkExplainNetwork, explainNetwork } from "./explain-network.ts";
import { findNetwork, listNetworks } from "./store.ts";
import { findSubnet, listSubnets } from "./subnet-store.ts";
import { checkUpdateNetwork, updateNetwork } from "./update-network.ts";
import { checkUpdateSubnet, updateSubnet } from "./update-subnet.ts";
import { viewNetwork, viewSubnet } from "./view.ts";

export function mountNetworks(api: Api): void {
  const findNetworkOf = (request: ApiRequest) =>
    findNetwork(request.db, request.organisationId, request.pathId("network_id", "net"));
  const findSubnetOf = (request: ApiRequest) =>
    findSubnet(
      request.db,
      request.organisationId,
      request.pathId("subnet_id", "sub"),
      request.pathId("network_id", "net"),
    );

  operation(api, "listNetworks", {
    handle: async (request) => {
      const page = await listNetworks(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewNetwork), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createNetwork", { check: checkCreateNetwork, mutate: createNetwork });
  operation(api, "getNetwork", {
    find: findNetworkOf,
    handle: async (_request, network) => reply(200, viewNetwork(network)),
  });
  operation(api, "updateNetwork", { find: findNetworkOf, check: checkUpdateNetwork, mutate: updateNetwork });
  operation(api, "deleteNetwork", { find: findNetworkOf, mutate: deleteNetwork });

  operation(api, "explainNetwork", {
    find: findNetworkOf,
    check: checkExplainNetwork,
    handle: explainNetwork,
  });

  operation(api, "listSubnets", {
    find: findNetworkOf,
    handle: async (request, network) => {
      const page = await listSubnets(request.db, request.organisationId, network.id, request.query);
      const items = page.rows.map((row) => viewSubnet(row, request.caller.isOperator));
      return reply(200, { items, next_cursor: page.nextCursor });
    },
  });
  operation(api, "createSubnet", { find: findNetworkOf, check: checkCreateSubnet, mutate: createSubnet });
  operation(api, "getSubnet", {
    find: findSubnetOf,
    handle: async (request, subnet) => reply(200, viewSubnet(subnet, request.caller.isOperator)),
  });
  operation(api, "updateSubnet", { find: findSubnetOf, check: checkUpdateSubnet, mutate: updateSubnet });
  operation(api, "deleteSubnet", { find: findSubnetOf, mutate: deleteSubnet });
}
