import { type LabelTerm, selectorMatches } from "../labels/selector.ts";
import type { IpRange } from "../public-ips/addresses.ts";
import type { PortRange } from "./ports.ts";

export const ruleProtocols = ["tcp", "udp", "icmp", "icmpv6", "any"] as const;
export type RuleProtocol = (typeof ruleProtocols)[number];

/** The peer of a rule: the sender for an inbound rule. */
export type Peer =
  | { readonly kind: "any" }
  | { readonly kind: "block"; readonly block: IpRange }
  /** The addresses of a subnet, for servers of its network. */
  | { readonly kind: "subnet"; readonly subnetId: string }
  | { readonly kind: "network"; readonly networkId: string }
  /** The servers that a firewall is attached to, with their public addresses. */
  | { readonly kind: "firewall"; readonly firewallId: string }
  | { readonly kind: "labels"; readonly terms: readonly LabelTerm[] };

export type FirewallRule = {
  readonly id: string;
  readonly direction: "in" | "out";
  readonly action: "allow" | "deny";
  readonly protocol: RuleProtocol;
  /** Of TCP and UDP alone; none are all. */
  readonly ports: readonly PortRange[];
  readonly peers: readonly Peer[];
  /** The lowest is evaluated first. */
  readonly priority: number;
  readonly isEnabled: boolean;
};

export type FirewallTarget =
  | { readonly kind: "server"; readonly serverId: string }
  | { readonly kind: "subnet"; readonly subnetId: string }
  | { readonly kind: "labels"; readonly terms: readonly LabelTerm[] };

export type Firewall = {
  readonly id: string;
  readonly organisationId: string;
  readonly region: string;
  readonly rules: readonly FirewallRule[];
  readonly targets: readonly FirewallTarget[];
};

/** A server as far as firewalls go. */
export type FilteredServer = {
  readonly id: string;
  readonly organisationId: string;
  readonly region: string;
  /** Null for a managed server: no selector of labels means it. */
  readonly labels: { readonly [key: string]: string } | null;
  /** Its private interfaces, in their order. */
  readonly interfaces: readonly { readonly subnetId: string; readonly address: string }[];
  /** Of either version. */
  readonly publicAddresses: readonly string[];
  /** A load balancer's, in its subnet and a public one: what is sent there may reach this server, and it sends nothing from there. */
  readonly sharedAddresses?: readonly string[];
};

/** Whether the firewall is attached to the server: by name, by its subnet or by its labels, and only in its own region. */
export function isAttached(firewall: Firewall, server: FilteredServer): boolean {
  if (firewall.organisationId !== server.organisationId || firewall.region !== server.region) return false;
  return firewall.targets.some((target) => isMeant(target, server));
}

function isMeant(target: FirewallTarget, server: FilteredServer): boolean {
  switch (target.kind) {
    case "server":
      return target.serverId === server.id;
    case "subnet":
      return server.interfaces.some(({ subnetId }) => subnetId === target.subnetId);
    case "labels":
      return server.labels !== null && selectorMatches(target.terms, server.labels);
  }
}

/** Rules for every server, whatever its firewalls say. They cannot be changed. */
export const platformRules = [
  {
    name: "own_mac",
    direction: "out",
    action: "deny",
    description: "Frames with a MAC address that is not the interface's own",
  },
  {
    name: "own_addresses",
    direction: "out",
    action: "deny",
    description: "Packets whose source is not one of the interface's addresses",
  },
  {
    name: "data_egress",
    direction: "out",
    action: "deny",
    description: "From a subnet of tier data to the internet",
  },
  {
    name: "other_networks",
    direction: "in",
    action: "deny",
    description: "From another private network, whoever it belongs to",
  },
  {
    name: "link_addresses",
    direction: "in",
    action: "deny",
    description: "From IPv6 addresses of the link (fe80::): private networks have no IPv6 at all",
  },
  {
    name: "answers",
    direction: "in",
    action: "allow",
    description: "Answers to what was allowed, in either direction",
  },
] as const;
export type PlatformRuleName = (typeof platformRules)[number]["name"];
