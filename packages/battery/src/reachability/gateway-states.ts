import type { IntentGateway } from "@kule/rules/networks/intent";
import type { Topology } from "./topology.ts";

/**
 * The gateways of the networks at one time. Ids and addresses are for an edge that is configured without the
 * product; requested of the API, gateways and forwarded ports have their own.
 */
export type GatewayState = { readonly name: string; readonly gateways: readonly IntentGateway[] };

/** Off; on, with ports forwarded to servers with a firewall and without; others served, none forwarded; off again. */
export function gatewayStates(topology: Topology): GatewayState[] {
  const of = (name: string) => {
    const server = topology.servers.find((each) => each.name === name);
    if (server === undefined) throw new Error(`there is no ${name}`);
    return server;
  };
  const [one, other] = [of("acme-one-app-1"), of("globex-one-app-1")];
  const subnet = (networkId: string, tier: string) =>
    topology.subnets.find((each) => each.networkId === networkId && each.tier === tier)?.id ?? "";
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
            // It has a public address, so its answers leave by that one and are lost.
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
