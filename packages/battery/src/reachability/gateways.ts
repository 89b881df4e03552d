import { desiredLinks } from "@kule/edge/desired-links";
import type { EdgeGateway, EdgeNetwork } from "@kule/edge/edge-network";
import { subnetLinkName, uplinkName } from "@kule/edge/names";
import type { IntentGateway } from "@kule/rules/networks/intent";
import type { GatewayState } from "./gateway-states.ts";
import { outside, type PacketScene, wiring } from "./packet-scene.ts";
import type { RouterMacs } from "./standpoint.ts";
import type { Topology } from "./topology.ts";

/** The wanted state of each network at the edge. */
export function edgeNetworks(
  topology: Topology,
  gateways: readonly IntentGateway[],
  generation: number,
): EdgeNetwork[] {
  const networkIds = [...new Set(topology.subnets.map(({ networkId }) => networkId))];
  return networkIds.map((networkId) => {
    const gateway = gateways.find((each) => each.networkId === networkId);
    return {
      networkId,
      generation,
      subnets: topology.subnets
        .filter((each) => each.networkId === networkId)
        .map(({ id, tier, vlan, cidr, routerAddress }) => ({
          ...{ subnetId: id, tier, vlan, cidr, gatewayAddress: routerAddress },
        })),
      gateway: gateway === undefined ? null : edgeGateway(gateway),
    };
  });
}

function edgeGateway({ id, address, subnetIds, portForwards }: IntentGateway): EdgeGateway {
  return {
    ...{ gatewayId: id, address, prefixLength: 24, nextHop: outside.nextHops[4], vlan: null, subnetIds },
    portForwards: portForwards.map(({ id: _, ...each }) => each),
  };
}

/** A generation newer than all of the product's, for an edge that is configured without it. */
export const beyondProductGeneration = 1_000_000;

/** Brings the edge there past the product, and answers the topology as it is then. */
export async function applyGateways(
  scene: PacketScene,
  topology: Topology,
  { gateways }: GatewayState,
  generation: number,
): Promise<Topology> {
  for (const network of edgeNetworks(topology, gateways, generation)) await scene.converge(network);
  return { ...topology, intent: { ...topology.intent, gateways } };
}

/** The MACs that the edge generates, for frames to it that use none of its addresses. */
export function routerMacs(topology: Topology): RouterMacs {
  const networks = edgeNetworks(topology, topology.intent.gateways, 1);
  const links = networks.flatMap((network) =>
    desiredLinks(network, wiring).map((link) => ({ ...link, networkId: network.networkId })),
  );
  return {
    inside: new Map(
      topology.subnets.map(({ id, vlan }) => [
        id,
        links.find(({ name }) => name === subnetLinkName(vlan))?.mac ?? "",
      ]),
    ),
    uplink: new Map(
      links.filter(({ name }) => name === uplinkName).map(({ networkId, mac }) => [networkId, mac]),
    ),
  };
}
