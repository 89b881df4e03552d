import fc from "fast-check";
import type { FilteredServer, Firewall, FirewallRule, Peer } from "../../firewalls/firewall.ts";
import { parseIpBlock } from "../../public-ips/addresses.ts";
import type { IntentGateway, IntentSubnet, NetworkIntent } from "../intent.ts";
import { tiers } from "../tiers.ts";

/*
 * Intents of two organisations with three networks of the same blocks, small enough for every combination.
 * They contain what the API would refuse as well: a gateway that serves a data subnet, a public address in
 * one.
 */

export const sampleNetworks = ["net_a1", "net_a2", "net_b1"] as const;
type NetworkId = (typeof sampleNetworks)[number];

const ownerOf = (networkId: string) => (networkId.startsWith("net_a") ? "org_a" : "org_b");
const numberOf = (networkId: string) => sampleNetworks.indexOf(networkId as NetworkId) + 1;

export const outsideAddress = "198.51.100.7";
const labelValues = ["web", "db"] as const;

export function subnetOf(networkId: string, third: number, tier: IntentSubnet["tier"]): IntentSubnet {
  return {
    id: `sub_${networkId.slice(4)}_${third}`,
    networkId,
    tier,
    cidr: `10.0.${third}.0/24`,
    routerAddress: `10.0.${third}.1`,
  };
}

export const block = (text: string): Peer => {
  const found = parseIpBlock(text);
  if (found === null) throw new Error(`${text} is no block`);
  return { kind: "block", block: found };
};

const anyPeer: fc.Arbitrary<Peer> = fc.oneof(
  fc.constant<Peer>({ kind: "any" }),
  fc.constantFrom("10.0.1.0/24", "10.0.2.10/32", "0.0.0.0/0", `${outsideAddress}/32`, "::/0").map(block),
  fc
    .tuple(fc.constantFrom(...sampleNetworks), fc.constantFrom(1, 2))
    .map(([networkId, third]): Peer => ({ kind: "subnet", subnetId: subnetOf(networkId, third, "app").id })),
  fc.constantFrom(...sampleNetworks).map((networkId): Peer => ({ kind: "network", networkId })),
  fc.constantFrom("fw_1", "fw_2", "fw_3").map((firewallId): Peer => ({ kind: "firewall", firewallId })),
  fc
    .constantFrom(...labelValues)
    .map((value): Peer => ({ kind: "labels", terms: [{ operator: "equals", key: "role", value }] })),
);

export const anyRule = (id: string): fc.Arbitrary<FirewallRule> =>
  fc
    .record({
      direction: fc.constantFrom("in", "out"),
      action: fc.constantFrom("allow", "deny"),
      protocol: fc.constantFrom("tcp", "udp", "icmp", "icmpv6", "any"),
      hasPorts: fc.boolean(),
      peers: fc.array(anyPeer, { minLength: 1, maxLength: 2 }),
      priority: fc.constantFrom(10, 20),
      isEnabled: fc.boolean(),
    })
    .map(({ hasPorts, ...rule }) => ({
      ...rule,
      id,
      ports:
        hasPorts && (rule.protocol === "tcp" || rule.protocol === "udp") ? [{ first: 20, last: 80 }] : [],
    }));

const anyFirewall = (id: string, owner: string): fc.Arbitrary<Firewall> =>
  fc
    .record({
      rules: fc.tuple(anyRule(`${id}_r1`), anyRule(`${id}_r2`), anyRule(`${id}_r3`)),
      byServer: fc.array(fc.constantFrom(...sampleNetworks.map((each) => `srv_${each.slice(4)}_1`)), {
        maxLength: 2,
      }),
      bySubnet: fc.boolean(),
      byLabel: fc.boolean(),
    })
    .map(({ rules, byServer, bySubnet, byLabel }) => ({
      id,
      organisationId: owner,
      region: "ist1",
      rules,
      targets: [
        ...byServer.map((serverId) => ({ kind: "server", serverId }) as const),
        ...(bySubnet ? [{ kind: "subnet", subnetId: "sub_a1_2" } as const] : []),
        ...(byLabel
          ? [{ kind: "labels", terms: [{ operator: "equals", key: "role", value: "web" }] } as const]
          : []),
      ],
    }));

const anyGateway = (networkId: string): fc.Arbitrary<IntentGateway | null> =>
  fc.option(
    fc.record({ serves: fc.subarray([1, 2, 3]), forwardTo: fc.option(fc.constantFrom(1, 2, 3)) }).map(
      ({ serves, forwardTo }): IntentGateway => ({
        id: `gw_${networkId.slice(4)}`,
        networkId,
        address: `203.0.113.${numberOf(networkId)}`,
        subnetIds: serves.map((third) => subnetOf(networkId, third, "app").id),
        portForwards:
          forwardTo === null
            ? []
            : [
                {
                  id: `pf_${networkId.slice(4)}`,
                  protocol: "tcp",
                  listenPort: 8080,
                  targetAddress: `10.0.${forwardTo}.10`,
                  targetPort: 80,
                },
              ],
      }),
    ),
  );

const anyServer = (networkId: string, third: number): fc.Arbitrary<FilteredServer> =>
  fc.record({ role: fc.constantFrom(...labelValues), isPublic: fc.boolean() }).map(
    ({ role, isPublic }): FilteredServer => ({
      id: `srv_${networkId.slice(4)}_${third}`,
      organisationId: ownerOf(networkId),
      region: "ist1",
      labels: { role },
      interfaces: [{ subnetId: subnetOf(networkId, third, "app").id, address: `10.0.${third}.10` }],
      publicAddresses: isPublic ? [`203.0.113.${numberOf(networkId) * 10 + third}`] : [],
    }),
  );

export const anyIntent: fc.Arbitrary<NetworkIntent> = fc
  .record({
    tierOf: fc.tuple(...sampleNetworks.map(() => fc.constantFrom(...tiers))),
    servers: fc.tuple(
      ...sampleNetworks.flatMap((networkId) => [1, 2, 3].map((third) => anyServer(networkId, third))),
    ),
    gateways: fc.tuple(...sampleNetworks.map(anyGateway)),
    firewalls: fc.tuple(
      anyFirewall("fw_1", "org_a"),
      anyFirewall("fw_2", "org_a"),
      anyFirewall("fw_3", "org_b"),
    ),
  })
  .map(({ tierOf, servers, gateways, firewalls }) => ({
    subnets: sampleNetworks.flatMap((networkId, index) => [
      subnetOf(networkId, 1, tierOf[index] ?? "app"),
      subnetOf(networkId, 2, "app"),
      subnetOf(networkId, 3, "data"),
    ]),
    servers,
    gateways: gateways.flatMap((gateway) => gateway ?? []),
    firewalls,
  }));

export const anyServerId: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...sampleNetworks), fc.constantFrom(1, 2, 3))
  .map(([networkId, third]) => `srv_${networkId.slice(4)}_${third}`);

export const anyProbe = fc.constantFrom(
  { protocol: "tcp", port: 22 } as const,
  { protocol: "tcp", port: 8080 } as const,
  { protocol: "udp", port: 53 } as const,
  { protocol: "icmp", port: null } as const,
);
