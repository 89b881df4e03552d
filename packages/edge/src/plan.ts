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

/** The wanted and the observed state of a network. */
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
  /** The bridge, or the tagged interface, for a link. */
  | { readonly do: "make-parent"; readonly on: LinkParent }
  /** It exists and is down: its creator was ended before it was up. */
  | { readonly do: "raise-parent"; readonly on: LinkParent }
  | { readonly do: "remove-link"; readonly name: string }
  | { readonly do: "set"; readonly settings: Readonly<Record<string, string>> }
  | { readonly do: "add-link"; readonly link: EdgeLink }
  /** Connects the other end of its cable to its bridge, with the permanent entry of a gateway's MAC. */
  | { readonly do: "plug"; readonly link: EdgeLink }
  | { readonly do: "bring-up"; readonly link: EdgeLink; readonly staleAddresses: readonly string[] }
  | { readonly do: "route"; readonly via: string; readonly device: string }
  | { readonly do: "unroute"; readonly to: string; readonly device: string };

/** A newer state was applied already: this one is outdated, and must not be applied again. */
export class Superseded extends Error {
  readonly live: number;
  constructor(wanted: number, live: number) {
    super(`generation ${live} is live, and ${wanted} is older`);
    this.name = "Superseded";
    this.live = live;
  }
}

/**
 * The steps from the observed state to the wanted one; none when they are the same. Their order keeps every
 * state in between harmless: the new rules are in force before any link appears, so a link that is about to
 * be deleted already passes nothing, and a new one never passes more than it should.
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
  // The kernel deletes the routes of a link with it.
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

/** Whether the link is the wanted one; whether its cable is connected is a separate question. */
function isSame({ name, on, mac }: EdgeLink, link: SeenLink): boolean {
  if (name !== link.name || on.kind !== link.kind || mac !== link.mac) return false;
  if (on.kind === "veth") return true;
  return link.parent === parentName(on) && (on.kind !== "vlan" || on.vlan === link.vlan);
}

/** A new link has its settings before it is up. */
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
        // Every new link starts with the settings of the uplink.
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
