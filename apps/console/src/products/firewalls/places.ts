import type { Schemas } from "@kule/contract/schemas";
import { readAll } from "../../api.ts";
import type { ConsoleContext } from "../../console-context.ts";
import type { View } from "../../layout/view.ts";

/** The resources of one region that rules, attachments and tests can name. */
export type Places = {
  readonly servers: readonly Schemas["Server"][];
  readonly networks: readonly Schemas["Network"][];
  readonly firewalls: readonly Schemas["Firewall"][];
};

export async function readPlaces(context: ConsoleContext, region: string): Promise<Places> {
  const api = context.get("api");
  const [servers, networks, firewalls] = await Promise.all([
    readAll((page) => api.GET("/servers", { params: { query: { ...page, region, sort: "name" } } })),
    readAll((page) => api.GET("/networks", { params: { query: { ...page, region } } })),
    readAll((page) => api.GET("/firewalls", { params: { query: { ...page, region } } })),
  ]);
  return { servers: servers.items, networks: networks.items, firewalls: firewalls.items };
}

/** A subnet with its network's name: `default/app`. */
export function subnetName({ networks }: Pick<Places, "networks">, id: string): string | null {
  for (const network of networks) {
    const subnet = network.subnets.find((each) => each.id === id);
    if (subnet !== undefined) return `${network.name}/${subnet.name}`;
  }
  return null;
}

/** The peer of a rule, as text. */
export function peerText({ messages }: View, places: Places, peer: Schemas["FirewallPeer"]): string {
  const text = messages.firewalls.peer;
  if (peer.cidr !== undefined) return peer.cidr;
  if (peer.label_selector !== undefined) return text.labelled(peer.label_selector);
  if (peer.subnet_id !== undefined) {
    const name = subnetName(places, peer.subnet_id);
    return name === null ? text.gone(peer.subnet_id) : text.subnet(name);
  }
  if (peer.network_id !== undefined) {
    const network = places.networks.find(({ id }) => id === peer.network_id);
    return network === undefined ? text.gone(peer.network_id) : text.network(network.name);
  }
  if (peer.firewall_id !== undefined) {
    const firewall = places.firewalls.find(({ id }) => id === peer.firewall_id);
    return firewall === undefined ? text.gone(peer.firewall_id) : text.firewall(firewall.name);
  }
  return text.any;
}

/** A rule in one line: `Allow TCP 22, 80 in from anyone`. */
export function ruleText(view: View, places: Places, rule: Schemas["FirewallRule"]): string {
  const text = view.messages.firewalls;
  const ports = rule.ports.length === 0 ? "" : ` ${rule.ports.join(", ")}`;
  const peers = rule.peers.map((peer) => peerText(view, places, peer)).join(", ");
  const side = rule.direction === "in" ? text.from : text.to;
  return `${text.actions[rule.action]} · ${text.protocols[rule.protocol]}${ports} · ${side}: ${peers}`;
}
