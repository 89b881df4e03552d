import { generationOfChain, namespaceOf, tableName } from "./names.ts";
import type { NftObject } from "./render-ruleset.ts";
import { output, type Runner } from "./runner.ts";

export type SeenLink = {
  readonly name: string;
  /** `vlan`, `veth`, `macvlan`, … as the kernel calls it. */
  readonly kind: string;
  readonly vlan: number | null;
  readonly mac: string;
  /**
   * The interface outside of the namespace that it is attached to, where there is one; a bridge for a cable's
   * other end.
   */
  readonly parent: string | null;
  /** For a cable: whether its bridge has a permanent entry for the link's MAC at this port. */
  readonly isPinned: boolean;
  readonly isUp: boolean;
  /** IPv4, in slash notation. */
  readonly addresses: readonly string[];
};

/** The state outside of all networks' namespaces. */
export type SeenMachine = {
  readonly namespaces: readonly string[];
  readonly interfaces: readonly OutsideLink[];
  readonly bridges: ReadonlySet<string>;
  /** The permanent forwarding entries of bridges: learnt entries expire. */
  readonly pins: readonly { readonly mac: string; readonly port: string }[];
};

type OutsideLink = {
  readonly ifname: string;
  readonly ifindex: number;
  readonly master?: string;
  readonly flags: readonly string[];
};

/** A network's namespace as it is. */
export type SeenNetwork = {
  readonly links: readonly SeenLink[];
  readonly routes: readonly { readonly via: string | null; readonly device: string; readonly to: string }[];
  /** The kernel's settings among those that are wanted. */
  readonly settings: Readonly<Record<string, string>>;
  readonly ruleset: SeenRuleset;
};

export type SeenRuleset = {
  /** As nft lists it, without handles and counters. */
  readonly objects: readonly NftObject[];
  /** Of the state that was last applied; null when none was. */
  readonly generation: number | null;
};

/** Names of all namespaces of the machine. */
export async function listNamespaces(runner: Runner, signal?: AbortSignal): Promise<readonly string[]> {
  const text = await output(runner, { words: ["ip", "-j", "netns", "list"] }, signal);
  return parsed<{ name: string }[]>(text, []).map(({ name }) => name);
}

export async function observeMachine(runner: Runner, signal?: AbortSignal): Promise<SeenMachine> {
  const [namespaces, links, forwarding] = await Promise.all([
    listNamespaces(runner, signal),
    output(runner, { words: ["ip", "-j", "link", "show"] }, signal),
    output(runner, { words: ["bridge", "-j", "fdb", "show"] }, signal),
  ]);
  // A bridge has entries for itself and for its ports.
  const entries = parsed<RawEntry[]>(forwarding, []).filter(({ master }) => master !== undefined);
  return {
    namespaces,
    interfaces: parsed<OutsideLink[]>(links, []),
    bridges: new Set(entries.flatMap(({ master }) => master ?? [])),
    pins: entries.filter(({ state }) => state === "static").map(({ mac, ifname }) => ({ mac, port: ifname })),
  };
}

/**
 * @param settings the kernel settings to read; those of absent links are left out
 * @returns null when the network has no namespace
 */
export async function observeNetwork(
  runner: Runner,
  networkId: string,
  machine: SeenMachine,
  settings: readonly string[],
  signal?: AbortSignal,
): Promise<SeenNetwork | null> {
  const namespace = namespaceOf(networkId);
  if (!machine.namespaces.includes(namespace)) return null;
  const inside = (...words: string[]) =>
    output(runner, { words: ["ip", "netns", "exec", namespace, ...words] }, signal);
  const [links, routes, values, rules] = await Promise.all([
    output(runner, { words: ["ip", "-n", namespace, "-j", "-d", "addr", "show"] }, signal),
    output(runner, { words: ["ip", "-n", namespace, "-j", "route", "show"] }, signal),
    settings.length === 0 ? "" : inside("sysctl", "-e", ...settings),
    inside("nft", "-j", "list", "ruleset"),
  ]);
  return {
    links: parsed<RawLink[]>(links, []).flatMap((link) =>
      link.ifname === "lo" ? [] : [linkOf(link, machine)],
    ),
    routes: parsed<RawRoute[]>(routes, []).map((route) => ({
      to: route.dst,
      via: route.gateway ?? null,
      device: route.dev,
    })),
    settings: Object.fromEntries(
      [...values.matchAll(/^(\S+) = (.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
    ),
    ruleset: rulesetOf(rules),
  };
}

type RawEntry = { mac: string; ifname: string; master?: string; state?: string };
type RawLink = {
  ifname: string;
  address?: string;
  link_index?: number;
  flags: string[];
  linkinfo?: { info_kind?: string; info_data?: { id?: number } };
  addr_info?: { family: string; local: string; prefixlen: number }[];
};
type RawRoute = { dst: string; gateway?: string; dev: string };

function linkOf(link: RawLink, { interfaces, pins }: SeenMachine): SeenLink {
  const { ifname, flags, linkinfo, addr_info = [] } = link;
  const other = interfaces.find(({ ifindex }) => ifindex === link.link_index);
  return {
    name: ifname,
    kind: linkinfo?.info_kind ?? "",
    mac: link.address ?? "",
    parent: (linkinfo?.info_kind === "veth" ? other?.master : other?.ifname) ?? null,
    isPinned: pins.some(({ mac, port }) => mac === link.address && port === other?.ifname),
    vlan: linkinfo?.info_kind === "vlan" ? (linkinfo.info_data?.id ?? null) : null,
    isUp: flags.includes("UP"),
    addresses: addr_info
      .filter(({ family }) => family === "inet")
      .map(({ local, prefixlen }) => `${local}/${prefixlen}`),
  };
}

/** A listing of nft, as far as two of them can be held against each other. */
export function rulesetOf(json: string): SeenRuleset {
  const { nftables } = parsed<{ nftables: NftObject[] }>(json, { nftables: [] });
  const objects = nftables.flatMap((object) => ("metainfo" in object ? [] : [withoutHandles(object)]));
  const generations = objects.flatMap((object) => {
    const chain = object.chain as { table?: string; name?: string } | undefined;
    const generation = chain?.table === tableName ? generationOfChain(chain.name ?? "") : null;
    return generation === null ? [] : [generation];
  });
  return { objects, generation: generations[0] ?? null };
}

function withoutHandles(object: NftObject): NftObject {
  return Object.fromEntries(
    Object.entries(object).map(([kind, value]) => {
      const { handle: _handle, index: _index, ...rest } = value as Record<string, unknown>;
      return [kind, inOneOrder(rest)];
    }),
  );
}

/** The kernel lists the members of a set in an order of its own. */
function inOneOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOneOrder);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const ordered = inOneOrder(each);
      if (key !== "set" || !Array.isArray(ordered)) return [key, ordered];
      return [key, ordered.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))];
    }),
  );
}

/** `ip -j` prints nothing at all for an empty list. */
function parsed<Value>(text: string, empty: Value): Value {
  return text.trim() === "" ? empty : (JSON.parse(text) as Value);
}
