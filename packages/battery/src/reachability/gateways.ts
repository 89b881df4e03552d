import { desiredLinks } from "@kule/edge/desired-links";
import type { EdgeGateway, EdgeNetwork } from "@kule/edge/edge-network";
import { subnetLinkName, uplinkName } from "@kule/edge/names";
import type { IntentGateway } from "@kule/rules/networks/intent";
import type { GatewayState } from "./gateway-states.ts";
import { outside, type PacketScene, wiring } from "./packet-scene.ts";
import type { RouterMacs } from "./standpoint.ts";
import type { Town } from "./town.ts";

/** What the edge is to hold of each network. */
export function edgeNetworks(
  town: Town,
  gateways: readonly IntentGateway[],
  generation: number,
): EdgeNetwork[] {
  const networkIds = [...new Set(town.subnets.map(({ networkId }) => networkId))];
  return networkIds.map((networkId) => {
    const gateway = gateways.find((each) => each.networkId === networkId);
    return {
      networkId,
      generation,
      subnets: town.subnets
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

/** What the edge is told past the product is newer than all that the product has told it. */
export const pastTheProduct = 1_000_000;

/** Brings the edge there past the product, and answers the town as it is then. */
export async function applyGateways(
  scene: PacketScene,
  town: Town,
  { gateways }: GatewayState,
  generation: number,
): Promise<Town> {
  for (const network of edgeNetworks(town, gateways, generation)) await scene.converge(network);
  return { ...town, intent: { ...town.intent, gateways } };
}

/** The MACs that the edge gives itself, for those who want to speak to it past its addresses. */
export function routerMacs(town: Town): RouterMacs {
  const networks = edgeNetworks(town, town.intent.gateways, 1);
  const links = networks.flatMap((network) =>
    desiredLinks(network, wiring).map((link) => ({ ...link, networkId: network.networkId })),
  );
  return {
    inside: new Map(
      town.subnets.map(({ id, vlan }) => [
        id,
        links.find(({ name }) => name === subnetLinkName(vlan))?.mac ?? "",
      ]),
    ),
    uplink: new Map(
      links.filter(({ name }) => name === uplinkName).map(({ networkId, mac }) => [networkId, mac]),
    ),
  };
}
