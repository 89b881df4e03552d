import { isDeepStrictEqual } from "node:util";
import {
  desiredLinks,
  desiredRoute,
  desiredSettings,
  type EdgeLink,
  isPinned,
  type LinkParent,
  parentName,
  settingsOf,
} from "./desired-links.ts";
import type { EdgeNetwork, EdgeWiring } from "./edge-network.ts";
import { uplinkName } from "./names.ts";
import type { SeenLink, SeenMachine, SeenNetwork } from "./observe.ts";
import type { NftObject } from "./render-ruleset.ts";

/** What is wanted of a network, and what it was seen to be. */
export type EdgeSight = {
  readonly want: EdgeNetwork;
  /** The wanted ruleset as nft itself lists it. */
  readonly rules: readonly NftObject[];
  readonly machine: SeenMachine;
  readonly seen: SeenNetwork | null;
};

export type EdgeStep =
  | { readonly do: "make-namespace" }
  /** All rules at once, in place of those of the generation that was seen. */
  | { readonly do: "replace-rules"; readonly seenGeneration: number | null; readonly hasTable: boolean }
  /** The bridge, or the tagged interface, that a link is to hang on. */
  | { readonly do: "make-parent"; readonly on: LinkParent }
  /** One that is there and down: whoever made it was ended before it was up. */
  | { readonly do: "raise-parent"; readonly on: LinkParent }
  | { readonly do: "remove-link"; readonly name: string }
  | { readonly do: "set"; readonly settings: Readonly<Record<string, string>> }
  | { readonly do: "add-link"; readonly link: EdgeLink }
  /** The other end of its cable goes into its bridge, which is told of a gateway's MAC. */
  | { readonly do: "plug"; readonly link: EdgeLink }
  | { readonly do: "bring-up"; readonly link: EdgeLink; readonly staleAddresses: readonly string[] }
  | { readonly do: "route"; readonly via: string; readonly device: string }
  | { readonly do: "unroute"; readonly to: string; readonly device: string };

/** A newer state was applied already: this one is history, and must not come back. */
export class Superseded extends Error {
  readonly live: number;
  constructor(wanted: number, live: number) {
    super(`generation ${live} is live, and ${wanted} is older`);
    this.name = "Superseded";
    this.live = live;
  }
}

/**
 * What is missing between the state that is wanted and the one that was seen; nothing when they are the same. The order
 * is what keeps every moment in between harmless: the new rules hold before any link appears, so a link that is on its
 * way out already passes nothing, and one on its way in never passes more than it is to.
 *
 * @throws Superseded
 */
export function planNetwork(sight: EdgeSight, wiring: EdgeWiring): readonly EdgeStep[] {
  const { want, rules, seen } = sight;
  const links = desiredLinks(want, wiring, sight.machine.bridges.has(wiring.uplink.interface));
  const parents = missingParents(links, sight.machine);
  if (seen === null)
    return [
      { do: "make-namespace" },
      { do: "replace-rules", seenGeneration: null, hasTable: false },
      { do: "set", settings: desiredSettings },
      ...parents,
      ...addedLinks(links, [], {}),
      ...routed(want, []),
    ];
  const live = seen.ruleset.generation;
  if (live !== null && live > want.generation) throw new Superseded(want.generation, live);
  const stray = seen.links.filter((link) => !links.some((wanted) => isSame(wanted, link)));
  const steps: EdgeStep[] = [];
  if (!isDeepStrictEqual(seen.ruleset.objects, rules))
    steps.push({ do: "replace-rules", seenGeneration: live, hasTable: seen.ruleset.objects.length > 0 });
  for (const { name } of stray) steps.push({ do: "remove-link", name });
  const unset = otherwise(desiredSettings, seen.settings);
  if (Object.keys(unset).length > 0) steps.push({ do: "set", settings: unset });
  // The kernel takes the routes of a link away with it.
  const routes = seen.routes.filter(({ device }) => !stray.some(({ name }) => name === device));
  const left = seen.links.filter((link) => !stray.includes(link));
  return [...steps, ...parents, ...addedLinks(links, left, seen.settings), ...routed(want, routes)];
}

/** Those settings that the kernel has otherwise. */
function otherwise(wanted: SeenNetwork["settings"], seen: SeenNetwork["settings"]): SeenNetwork["settings"] {
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => seen[name] !== value));
}

function missingParents(links: readonly EdgeLink[], { interfaces }: SeenMachine): EdgeStep[] {
  const isMade = ({ kind, ...on }: LinkParent) =>
    kind === "veth" || ("vlan" in on && kind === "macvlan" && on.vlan !== null);
  return links.flatMap(({ on }): EdgeStep[] => {
    const there = interfaces.find(({ ifname }) => ifname === parentName(on));
    if (!isMade(on) || there?.flags.includes("UP") === true) return [];
    return [{ do: there === undefined ? "make-parent" : "raise-parent", on }];
  });
}

/** Whether the link is the one that is wanted; whether its cable is plugged in is another matter. */
function isSame({ name, on, mac }: EdgeLink, link: SeenLink): boolean {
  if (name !== link.name || on.kind !== link.kind || mac !== link.mac) return false;
  if (on.kind === "veth") return true;
  return link.parent === parentName(on) && (on.kind !== "vlan" || on.vlan === link.vlan);
}

/** A link that comes has its settings before it is up. */
function addedLinks(
  links: readonly EdgeLink[],
  there: readonly SeenLink[],
  settings: SeenNetwork["settings"],
): EdgeStep[] {
  return links.flatMap((link): EdgeStep[] => {
    const seen = there.find(({ name }) => name === link.name);
    if (seen === undefined)
      return [
        { do: "add-link", link },
        // Every link comes as the uplink is to be.
        ...(link.name === uplinkName ? [] : [{ do: "set", settings: settingsOf(link) } as const]),
        ...(link.on.kind === "veth" ? [{ do: "plug", link } as const] : []),
        { do: "bring-up", link, staleAddresses: [] },
      ];
    const unset = otherwise(settingsOf(link), settings);
    const staleAddresses = seen.addresses.filter((address) => address !== link.address);
    const isRight = seen.isUp && staleAddresses.length === 0 && seen.addresses.includes(link.address);
    const isPlugged =
      link.on.kind !== "veth" || (seen.parent === link.on.bridge && (seen.isPinned || !isPinned(link)));
    return [
      ...(Object.keys(unset).length > 0 ? [{ do: "set", settings: unset } as const] : []),
      ...(isPlugged ? [] : [{ do: "plug", link } as const]),
      ...(isRight ? [] : [{ do: "bring-up", link, staleAddresses } as const]),
    ];
  });
}

function routed(want: EdgeNetwork, seen: SeenNetwork["routes"]): EdgeStep[] {
  const route = desiredRoute(want);
  const defaults = seen.filter(({ to }) => to === "default");
  const steps = seen
    .filter(({ to, via }) => via !== null && to !== "default")
    .map(({ to, device }): EdgeStep => ({ do: "unroute", to, device }));
  if (route === null)
    return [...steps, ...defaults.map(({ to, device }): EdgeStep => ({ do: "unroute", to, device }))];
  const [only, ...more] = defaults;
  const isRight = more.length === 0 && only?.via === route.via && only.device === route.device;
  return isRight ? steps : [...steps, { do: "route", ...route }];
}
