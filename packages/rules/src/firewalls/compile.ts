import { type IpRange, parseIp } from "../public-ips/addresses.ts";
import {
  type FilteredServer,
  type Firewall,
  type FirewallRule,
  isAttached,
  type Peer,
  type RuleProtocol,
} from "./firewall.ts";
import type { PortRange } from "./ports.ts";

/** The interface of a server's packets: in its private network or in the region's public one. */
export type Side = "private" | "public";

/**
 * A rule for one server: its peers are resolved to addresses. The region gets these rules and `explain`
 * evaluates them, in this order.
 */
export type CompiledRule = {
  readonly firewallId: string;
  readonly ruleId: string;
  readonly direction: "in" | "out";
  readonly action: "allow" | "deny";
  readonly protocol: RuleProtocol;
  readonly ports: readonly PortRange[];
  /** Null: on either. Inside addresses mean nothing outside of their own network. */
  readonly side: Side | null;
  /** Null: any address. */
  readonly blocks: readonly IpRange[] | null;
};

/** The filter of one server. */
export type CompiledFilter = {
  /** Whether any firewall is attached: then packets that no rule allows are dropped. */
  readonly isFiltered: boolean;
  readonly rules: readonly CompiledRule[];
};

/** Where the peers of rules are looked up; of one organisation. */
export type Surroundings = {
  readonly firewalls: readonly Firewall[];
  readonly servers: readonly FilteredServer[];
  readonly subnets: readonly { readonly id: string; readonly networkId: string; readonly block: IpRange }[];
};

/**
 * The rules of all firewalls that are attached to the server, as one list: the first that matches decides.
 * The order is by priority; of two with the same one the deny comes first, so that a union of firewalls never
 * opens what one of them closes with the same priority.
 */
export function compileFilter(server: FilteredServer, around: Surroundings): CompiledFilter {
  const attached = around.firewalls.filter((firewall) => isAttached(firewall, server));
  const rules = attached.flatMap((firewall) =>
    firewall.rules.filter(({ isEnabled }) => isEnabled).map((rule) => ({ firewallId: firewall.id, rule })),
  );
  const inOrder = rules.toSorted(
    (one, other) =>
      one.rule.priority - other.rule.priority ||
      Number(one.rule.action === "allow") - Number(other.rule.action === "allow") ||
      compareText(one.firewallId, other.firewallId) ||
      compareText(one.rule.id, other.rule.id),
  );
  return {
    isFiltered: attached.length > 0,
    rules: inOrder.flatMap(({ firewallId, rule }) => compileRule(firewallId, rule, server, around)),
  };
}

const compareText = (one: string, other: string) => (one < other ? -1 : Number(one > other));

/** A rule may become two: what it means inside the network, and what it means everywhere. */
function compileRule(
  firewallId: string,
  rule: FirewallRule,
  server: FilteredServer,
  around: Surroundings,
): CompiledRule[] {
  const { id: ruleId, direction, action, protocol, ports } = rule;
  const made = { firewallId, ruleId, direction, action, protocol, ports };
  if (rule.peers.some(({ kind }) => kind === "any")) return [{ ...made, side: null, blocks: null }];
  const found = rule.peers.map((peer) => blocksOf(peer, server, around));
  const [inside, everywhere] = [
    found.flatMap((each) => each.inside),
    found.flatMap((each) => each.everywhere),
  ].map(inOneOrder) as [IpRange[], IpRange[]];
  return [
    ...(inside.length === 0 ? [] : [{ ...made, side: "private", blocks: inside } as const]),
    ...(everywhere.length === 0 ? [] : [{ ...made, side: null, blocks: everywhere }]),
  ];
}

type PeerBlocks = { readonly inside: readonly IpRange[]; readonly everywhere: readonly IpRange[] };

function blocksOf(peer: Peer, server: FilteredServer, around: Surroundings): PeerBlocks {
  const ownNetworks = networksOf(server, around);
  switch (peer.kind) {
    case "any":
      return { inside: [], everywhere: [] };
    case "block":
      return { inside: [], everywhere: [peer.block] };
    case "subnet":
    case "network": {
      const meant = around.subnets.filter(
        ({ id, networkId }) =>
          ownNetworks.has(networkId) &&
          (peer.kind === "subnet" ? id === peer.subnetId : networkId === peer.networkId),
      );
      return { inside: meant.map(({ block }) => block), everywhere: [] };
    }
    case "firewall": {
      const other = around.firewalls.find(({ id }) => id === peer.firewallId);
      const meant = around.servers.filter((each) => other !== undefined && isAttached(other, each));
      return addressesOf(meant, ownNetworks, around);
    }
    case "labels": {
      const byLabels: Firewall = {
        id: "",
        organisationId: server.organisationId,
        region: server.region,
        rules: [],
        targets: [{ kind: "labels", terms: peer.terms }],
      };
      const meant = around.servers.filter((each) => isAttached(byLabels, each));
      return addressesOf(meant, ownNetworks, around);
    }
  }
}

function networksOf(server: FilteredServer, { subnets }: Surroundings): ReadonlySet<string> {
  const own = server.interfaces.map(({ subnetId }) => subnets.find(({ id }) => id === subnetId)?.networkId);
  return new Set(own.flatMap((networkId) => networkId ?? []));
}

function addressesOf(
  servers: readonly FilteredServer[],
  ownNetworks: ReadonlySet<string>,
  { subnets }: Surroundings,
): PeerBlocks {
  return {
    inside: servers.flatMap(({ interfaces }) =>
      interfaces
        .filter(({ subnetId }) => {
          const networkId = subnets.find(({ id }) => id === subnetId)?.networkId;
          return networkId !== undefined && ownNetworks.has(networkId);
        })
        .flatMap(({ address }) => single(address)),
    ),
    everywhere: servers.flatMap(({ publicAddresses }) => publicAddresses.flatMap(single)),
  };
}

function single(address: string): IpRange[] {
  const ip = parseIp(address);
  return ip === null ? [] : [{ version: ip.version, first: ip.value, last: ip.value }];
}

/**
 * The same blocks must be the same text, however they were found: otherwise every comparison would find a
 * difference.
 */
function inOneOrder(blocks: readonly IpRange[]): IpRange[] {
  const sorted = blocks.toSorted(
    (one, other) =>
      one.version - other.version || compareBig(one.first, other.first) || compareBig(one.last, other.last),
  );
  return sorted.filter(
    (block, index) =>
      index === 0 ||
      block.version !== sorted[index - 1]?.version ||
      block.first !== sorted[index - 1]?.first ||
      block.last !== sorted[index - 1]?.last,
  );
}

const compareBig = (one: bigint, other: bigint) => (one < other ? -1 : Number(one > other));
