import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { findSubnet } from "../networks/index.ts";
import { checkCreateGateway, createGateway } from "./create-gateway.ts";
import { deleteGateway } from "./delete-gateway.ts";
import { findPortForward, listPortForwards } from "./forward-store.ts";
import {
  checkCreatePortForward,
  createPortForward,
  deletePortForward,
  type ForwardOfGateway,
} from "./port-forwards.ts";
import { findGateway, type GatewayDetails, listGateways } from "./store.ts";
import {
  attachGatewaySubnet,
  checkAttachGatewaySubnet,
  detachGatewaySubnet,
  type SubnetOfGateway,
} from "./subnets.ts";
import { checkUpdateGateway, updateGateway } from "./update-gateway.ts";
import { viewGateway, viewPortForward } from "./view.ts";

export function mountGateways(api: Api): void {
  const find = (request: ApiRequest): Promise<GatewayDetails | null> =>
    findGateway(request.db, request.organisationId, request.pathId("gateway_id", "gw"));
  const findServed = async (request: ApiRequest): Promise<SubnetOfGateway | null> => {
    const subnetId = request.pathId("subnet_id", "sub");
    const gateway = await find(request);
    if (gateway === null) return null;
    const subnet = await findSubnet(request.db, request.organisationId, subnetId, gateway.network_id);
    return subnet === null ? null : { gateway, subnetId };
  };
  const findForward = async (request: ApiRequest): Promise<ForwardOfGateway | null> => {
    const id = request.pathId("port_forward_id", "pf");
    const gateway = await find(request);
    if (gateway === null) return null;
    const forward = await findPortForward(request.db, request.organisationId, gateway.id, id);
    return forward === null ? null : { gateway, forward };
  };

  operation(api, "listGateways", {
    handle: async (request) => {
      const page = await listGateways(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewGateway), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createGateway", { check: checkCreateGateway, mutate: createGateway });
  operation(api, "getGateway", { find, handle: async (_request, row) => reply(200, viewGateway(row)) });
  operation(api, "updateGateway", { find, check: checkUpdateGateway, mutate: updateGateway });
  operation(api, "deleteGateway", { find, mutate: deleteGateway });
  operation(api, "attachGatewaySubnet", {
    find,
    check: checkAttachGatewaySubnet,
    mutate: attachGatewaySubnet,
  });
  operation(api, "detachGatewaySubnet", { find: findServed, mutate: detachGatewaySubnet });
  operation(api, "listPortForwards", {
    find,
    handle: async (request, gateway) => {
      const page = await listPortForwards(request.db, request.organisationId, gateway.id, request.query);
      return reply(200, { items: page.rows.map(viewPortForward), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createPortForward", { find, check: checkCreatePortForward, mutate: createPortForward });
  operation(api, "deletePortForward", { find: findForward, mutate: deletePortForward });
}
