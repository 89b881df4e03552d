import { loadIntent } from "@kule/api/products/firewalls/intent";
import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { IntentSubnet, NetworkIntent } from "@kule/rules/networks/intent";
import { accepted, type PacketScene } from "./packet-scene.ts";

type TierName = "app" | "mgmt" | "data";

/** How many servers each subnet has: higher addresses are used in some networks and not in others. */
const plan = {
  acme: { one: { app: 3, mgmt: 2, data: 2 }, two: { app: 2, mgmt: 1, data: 1 } },
  globex: { one: { app: 4, mgmt: 1, data: 3 } },
} as const;

const blocks: Readonly<Record<TierName, string>> = {
  app: "10.0.1.0/24",
  mgmt: "10.0.2.0/24",
  data: "10.0.3.0/24",
};

/** Which get a public IPv4 address with their creation, so that cloud-init configures it in their guests. */
const madeWithPublic: ReadonlySet<string> = new Set(["acme-one-app-3", "globex-one-app-3"]);

/** Which get public addresses while they run, by their names. */
const publicOf: Readonly<Record<string, readonly (4 | 6)[]>> = {
  "acme-one-app-1": [4, 6],
  "acme-one-mgmt-1": [4],
  "acme-two-app-1": [6],
  "globex-one-app-1": [4, 6],
  "globex-one-app-2": [6],
};

export type TopologyServer = {
  readonly id: string;
  readonly name: string;
  readonly organisation: string;
  readonly networkId: string;
  readonly subnetId: string;
  readonly vmid: number;
  readonly address: string;
  readonly publicAddresses: readonly string[];
};

export type TopologySubnet = IntentSubnet & { readonly vlan: number; readonly organisation: string };

/** Two organisations with three networks of the same blocks: every tier, public addresses, firewalls. */
export type Topology = {
  readonly apis: ReadonlyMap<string, ApiCaller>;
  readonly servers: readonly TopologyServer[];
  readonly subnets: readonly TopologySubnet[];
  /** Of both organisations. */
  readonly intent: NetworkIntent;
};

export async function buildTopology(scene: PacketScene): Promise<Topology> {
  const apis = new Map<string, ApiCaller>();
  const named = new Map<string, { readonly id: string; readonly organisation: string }>();
  const subnetIds = new Map<string, string>();
  const pools = await publicPools(scene);
  for (const [slug, networks] of Object.entries(plan)) {
    const { id: organisation, api } = await scene.newOrganisation(slug);
    apis.set(organisation, api);
    for (const pool of pools)
      accepted(
        await scene.api.operator.post(`/ip-pools/${pool}/allocations`, {
          organisation_id: organisation,
          count: 4,
        }),
      );
    for (const [network, tiers] of Object.entries(networks)) {
      const made = await api.post("/networks", { name: network, region: scene.region, cidr: "10.0.0.0/16" });
      const networkId = accepted(made).network.id as string;
      for (const [tier, count] of Object.entries(tiers) as [TierName, number][]) {
        const subnet = await api.post(`/networks/${networkId}/subnets`, {
          name: tier,
          tier,
          cidr: blocks[tier],
        });
        const subnetId = accepted(subnet).subnet.id as string;
        subnetIds.set(`${slug}-${network}-${tier}`, subnetId);
        for (let index = 1; index <= count; index += 1) {
          const name = `${slug}-${network}-${tier}-${index}`;
          const server = await api.post("/servers", {
            ...{ name, region: scene.region, image: "ubuntu-24.04", package: "s" },
            ...{ subnet_id: subnetId, labels: { role: `${tier}-${index}` } },
            ...(madeWithPublic.has(name) ? { public_ip: "auto" } : {}),
          });
          named.set(name, { id: accepted(server).server.id as string, organisation });
        }
      }
    }
  }
  await scene.work();
  for (const [name, versions] of Object.entries(publicOf))
    for (const version of versions) {
      const { id, organisation } = named.get(name) ?? { id: "", organisation: "" };
      const api = apis.get(organisation);
      if (api === undefined) throw new Error(`there is no server ${name}`);
      const ip = accepted(await api.post("/public-ips", { region: scene.region, version }));
      accepted(await api.post(`/public-ips/${ip.id}/attach`, { server_id: id }));
      await scene.work();
    }
  await raiseFirewalls(scene, apis, named, subnetIds);
  await scene.work();
  return readTopology(scene, apis);
}

async function publicPools({ api: { operator }, region }: PacketScene): Promise<string[]> {
  const wanted = [
    { gateway: "203.0.113.1", prefix_length: 24, range: "203.0.113.16/28" },
    { gateway: "2001:db8:7::1", prefix_length: 64, range: "2001:db8:7::10/124" },
  ];
  const ids: string[] = [];
  for (const { range, ...network } of wanted) {
    const pool = accepted(
      await operator.post("/ip-pools", {
        region,
        name: `of ${network.gateway}`.replaceAll(":", "-"),
        ...network,
      }),
    );
    accepted(await operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: range }));
    ids.push(pool.id);
  }
  return ids;
}

/** Of every kind of peer and target one at least; in both organisations, about the same addresses. */
async function raiseFirewalls(
  { region }: PacketScene,
  apis: ReadonlyMap<string, ApiCaller>,
  named: ReadonlyMap<string, { readonly id: string; readonly organisation: string }>,
  subnetIds: ReadonlyMap<string, string>,
): Promise<void> {
  const serverId = (name: string) => named.get(name)?.id;
  const raise = async (owner: string, name: string, rules: readonly object[], targets: readonly object[]) => {
    const api = apis.get(named.get(`${owner}-one-app-1`)?.organisation ?? "");
    if (api === undefined) throw new Error(`there is no ${owner}`);
    const { firewall } = accepted(await api.post("/firewalls", { name, region, rules }));
    for (const target of targets) accepted(await api.post(`/firewalls/${firewall.id}/attachments`, target));
    return firewall.id as string;
  };
  const web = await raise(
    "acme",
    "web",
    [
      { protocol: "tcp", ports: ["80"], peers: [{ any: true }] },
      { protocol: "tcp", ports: ["22"], peers: [{ subnet_id: subnetIds.get("acme-one-mgmt") }] },
      { protocol: "icmp", peers: [{ cidr: "10.0.1.0/24" }, { cidr: "198.51.100.0/24" }] },
      { protocol: "icmpv6", peers: [{ any: true }] },
    ],
    [{ server_id: serverId("acme-one-app-1") }, { server_id: serverId("acme-one-app-2") }],
  );
  await raise(
    "acme",
    "database",
    [
      { protocol: "tcp", ports: ["22"], peers: [{ firewall_id: web }] },
      {
        action: "deny",
        protocol: "tcp",
        ports: ["80"],
        peers: [{ label_selector: "role=app-2" }],
        priority: 10,
      },
      { protocol: "tcp", ports: ["80"], peers: [{ any: true }] },
      { direction: "out", action: "deny", protocol: "udp", ports: ["53"], peers: [{ any: true }] },
    ],
    [{ subnet_id: subnetIds.get("acme-one-data") }],
  );
  await raise(
    "globex",
    "labelled",
    [
      { protocol: "udp", ports: ["53"], peers: [{ cidr: "10.0.1.0/24" }] },
      { protocol: "any", peers: [{ cidr: "2001:db8:7::/64" }] },
      { direction: "out", action: "deny", protocol: "icmp", peers: [{ cidr: "10.0.3.0/24" }] },
    ],
    [{ label_selector: "role=app-1" }, { label_selector: "role=data-2" }],
  );
}

/** As the API's records have it now. */
export async function readTopology(
  scene: PacketScene,
  apis: ReadonlyMap<string, ApiCaller>,
): Promise<Topology> {
  const { db } = scene.api.replica.deps;
  const intents = new Map<string, NetworkIntent>();
  for (const organisation of apis.keys())
    intents.set(organisation, await loadIntent(db, organisation, scene.region));
  const { rows: vlans } = await scene.owner.query<{ subnet_id: string; vlan: number }>(
    "select subnet_id, vlan from region_vlan where subnet_id is not null",
  );
  const { rows: machines } = await scene.owner.query<{ id: string; name: string; vmid: number }>(
    "select s.id, s.name, v.vmid from server s join region_vmid v on v.server_id = s.id and v.region = s.region",
  );
  const subnets = [...intents].flatMap(([organisation, { subnets: own }]) =>
    own.map((subnet) => ({
      ...subnet,
      organisation,
      vlan: vlans.find(({ subnet_id }) => subnet_id === subnet.id)?.vlan ?? 0,
    })),
  );
  const servers = [...intents].flatMap(([organisation, { servers: own }]) =>
    own.map(({ id, interfaces: [first], publicAddresses }): TopologyServer => {
      const machine = machines.find((each) => each.id === id);
      const subnet = subnets.find((each) => each.id === first?.subnetId);
      if (machine === undefined || first === undefined || subnet === undefined)
        throw new Error(`${id} is nowhere`);
      const { name, vmid } = machine;
      const { networkId, id: subnetId } = subnet;
      return { id, name, organisation, networkId, subnetId, vmid, address: first.address, publicAddresses };
    }),
  );
  const all = [...intents.values()];
  return {
    apis,
    servers: servers.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    subnets,
    intent: {
      subnets: all.flatMap((each) => each.subnets),
      servers: all.flatMap((each) => each.servers),
      firewalls: all.flatMap((each) => each.firewalls),
      gateways: all.flatMap((each) => each.gateways),
    },
  };
}
