import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { listAddresses } from "./address-list.ts";
import { checkCreateNetwork, createNetwork } from "./create-network.ts";
import { checkCreateReservation, createReservation } from "./create-reservation.ts";
import { checkCreateSubnet, createSubnet } from "./create-subnet.ts";
import { deleteNetwork } from "./delete-network.ts";
import { deleteReservation } from "./delete-reservation.ts";
import { deleteSubnet } from "./delete-subnet.ts";
import type { NetworkHooks } from "./hooks.ts";
import { findReservation, listReservations } from "./reservation-store.ts";
import { findNetwork, findNetworkDetails, listNetworks } from "./store.ts";
import { findSubnet, findSubnetDetails, listSubnets } from "./subnet-store.ts";
import { checkUpdateNetwork, updateNetwork } from "./update-network.ts";
import { checkUpdateReservation, updateReservation } from "./update-reservation.ts";
import { checkUpdateSubnet, updateSubnet } from "./update-subnet.ts";
import { viewAddress, viewNetwork, viewReservation, viewSubnet } from "./view.ts";

export function mountNetworks(api: Api, hooks: readonly NetworkHooks[]): void {
  const findNetworkOf = (request: ApiRequest) =>
    findNetwork(request.db, request.organisationId, request.pathId("network_id", "net"));
  const findSubnetOf = (request: ApiRequest) =>
    findSubnet(
      request.db,
      request.organisationId,
      request.pathId("subnet_id", "sub"),
      request.pathId("network_id", "net"),
    );
  const findReservationOf = async (request: ApiRequest) => {
    const id = request.pathId("reservation_id", "rsv");
    const subnet = await findSubnetOf(request);
    return subnet === null ? null : findReservation(request.db, request.organisationId, id, subnet.id);
  };

  operation(api, "listNetworks", {
    handle: async (request) => {
      const page = await listNetworks(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewNetwork), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createNetwork", { check: checkCreateNetwork, mutate: createNetwork });
  operation(api, "getNetwork", {
    find: (request) =>
      findNetworkDetails(request.db, request.organisationId, request.pathId("network_id", "net")),
    handle: async (_request, network) => reply(200, viewNetwork(network)),
  });
  operation(api, "updateNetwork", { find: findNetworkOf, check: checkUpdateNetwork, mutate: updateNetwork });
  operation(api, "deleteNetwork", {
    find: findNetworkOf,
    mutate: (request, tx, network) => deleteNetwork(request, tx, network, hooks),
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
    find: (request) =>
      findSubnetDetails(
        request.db,
        request.organisationId,
        request.pathId("subnet_id", "sub"),
        request.pathId("network_id", "net"),
      ),
    handle: async (request, subnet) => reply(200, viewSubnet(subnet, request.caller.isOperator)),
  });
  operation(api, "updateSubnet", { find: findSubnetOf, check: checkUpdateSubnet, mutate: updateSubnet });
  operation(api, "deleteSubnet", {
    find: findSubnetOf,
    mutate: (request, tx, subnet) => deleteSubnet(request, tx, subnet, hooks),
  });

  operation(api, "listSubnetAddresses", {
    find: findSubnetOf,
    handle: async (request, subnet) => {
      const page = await listAddresses(request.db, request.organisationId, subnet, request.query);
      return reply(200, { items: page.rows.map(viewAddress), next_cursor: page.nextCursor });
    },
  });
  operation(api, "listReservations", {
    find: findSubnetOf,
    handle: async (request, subnet) => {
      const page = await listReservations(request.db, request.organisationId, subnet.id, request.query);
      return reply(200, { items: page.rows.map(viewReservation), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createReservation", {
    find: findSubnetOf,
    check: checkCreateReservation,
    mutate: createReservation,
  });
  operation(api, "getReservation", {
    find: findReservationOf,
    handle: async (_request, reservation) => reply(200, viewReservation(reservation)),
  });
  operation(api, "updateReservation", {
    find: findReservationOf,
    check: checkUpdateReservation,
    mutate: updateReservation,
  });
  operation(api, "deleteReservation", { find: findReservationOf, mutate: deleteReservation });
}
