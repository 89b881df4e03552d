import { desiredLinks } from "@kule/edge/desired-links";
import type { EdgeGateway, EdgeNetwork } from "@kule/edge/edge-network";
import { subnetLinkName, uplinkName } from "@kule/edge/names";
import type { IntentGateway } from "@kule/rules/networks/intent";
import { outside, type PacketScene, wiring } from "./packet-scene.ts";
import type { RouterMacs } from "./server-tricks.ts";
import type { Town } from "./town.ts";

/** How the gateways of the networks are at one time. */
export type GatewayState = { readonly name: string; readonly gateways: readonly IntentGateway[] };

/** Off; on, with ports forwarded to servers with a firewall and without; others served, none forwarded; off again. */
export function gatewayStates(town: Town): GatewayState[] {
  const of = (name: string) => {
    const server = town.servers.find((each) => each.name === name);
    if (server === undefined) throw new Error(`there is no ${name}`);
    return server;
  };
  const [one, other] = [of("acme-one-app-1"), of("globex-one-app-1")];
  const subnet = (networkId: string, tier: string) =>
    town.subnets.find((each) => each.networkId === networkId && each.tier === tier)?.id ?? "";
  const forward = (protocol: "tcp" | "udp", listenPort: number, to: string, targetPort: number) => ({
    ...{ id: `pf_${protocol}${listenPort}`, protocol, listenPort, targetAddress: of(to).address, targetPort },
  });
  const acme = (tiers: readonly string[], portForwards: IntentGateway["portForwards"]): IntentGateway => ({
    ...{ id: "gw_acme", networkId: one.networkId, address: "203.0.113.40", portForwards },
    subnetIds: tiers.map((tier) => subnet(one.networkId, tier)),
  });
  const globex = (tiers: readonly string[], portForwards: IntentGateway["portForwards"]): IntentGateway => ({
    ...{ id: "gw_globex", networkId: other.networkId, address: "203.0.113.41", portForwards },
    subnetIds: tiers.map((tier) => subnet(other.networkId, tier)),
  });
  return [
    { name: "without gateways", gateways: [] },
    {
      name: "with gateways and forwarded ports",
      gateways: [
        acme(
          ["app"],
          [
            forward("tcp", 8080, "acme-one-app-2", 80),
            forward("tcp", 8022, "acme-one-app-2", 22),
            forward("udp", 8053, "acme-one-app-3", 53),
            // It has a public address, so it answers by that one and in vain.
            forward("tcp", 8081, "acme-one-app-1", 80),
          ],
        ),
        globex(["app", "mgmt"], [forward("tcp", 8080, "globex-one-app-3", 80)]),
      ],
    },
    {
      name: "with other subnets served and nothing forwarded",
      gateways: [acme(["app", "mgmt"], []), globex(["mgmt"], [])],
    },
    { name: "without gateways again", gateways: [] },
  ];
}

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

/** Brings the edge there, and answers the town as it is then. */
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
