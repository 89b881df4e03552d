import { isDeepStrictEqual } from "node:util";
import {
  desiredLinks,
  desiredRoute,
  desiredSettings,
  type EdgeLink,
  isPinned,
  parentName,
  settingsOf,
} from "@kule/edge/desired-links";
import type { EdgeNetwork, EdgeWiring } from "@kule/edge/edge-network";
import type { SeenNetwork } from "@kule/edge/observe";
import type { EdgeSight } from "@kule/edge/plan";
import type { EdgeView } from "@kule/testing/world-check/edge-invariants";
import type { EdgeTestbed } from "./edge-testbed.ts";

/** The state of the edge, for world-check. */
export function viewOfEdge({ edge, wiring }: EdgeTestbed, region: string): EdgeView {
  return {
    region,
    networks: () => edge.networks(),
    differences: async (want) => differencesOf(await edge.observe(want as EdgeNetwork), wiring),
  };
}

/**
 * Where a network differs from the wanted state. Compared independently, part by part: otherwise whatever the
 * driver's own plan misses would be missed here too.
 */
function differencesOf({ want, rules, machine, seen }: EdgeSight, wiring: EdgeWiring): string[] {
  if (seen === null) return ["has no namespace"];
  const links = desiredLinks(want, wiring, machine.bridges.has(wiring.uplink.interface));
  const isUp = (name: string) =>
    machine.interfaces.some(({ ifname, flags }) => ifname === name && flags.includes("UP"));
  return [
    ...(isDeepStrictEqual(seen.ruleset.objects, rules) ? [] : ["has other rules than are wanted"]),
    ...links.flatMap((link) => linkDifferences(link, seen)),
    ...links.filter(({ on }) => !isUp(parentName(on))).map(({ on }) => `has ${parentName(on)} down`),
    ...seen.links
      .filter(({ name }) => !links.some((link) => link.name === name))
      .map(({ name }) => `has a link ${name} that is not wanted`),
    ...Object.entries(Object.assign({}, desiredSettings, ...links.map(settingsOf)) as Record<string, string>)
      .filter(([name, value]) => seen.settings[name] !== value)
      .map(([name]) => `has ${name} set to ${seen.settings[name]}`),
    ...routeDifferences(want, seen),
  ];
}

function linkDifferences(wanted: EdgeLink, { links }: SeenNetwork): string[] {
  const { name, on, mac, address } = wanted;
  const [link, ...more] = links.filter((each) => each.name === name);
  if (link === undefined) return [`has no link ${name}`];
  const found = [];
  if (more.length > 0) found.push("is there more than once");
  if (!link.isUp) found.push("is down");
  if (link.mac !== mac) found.push(`has the MAC ${link.mac}`);
  if (!isDeepStrictEqual(link.addresses, [address]))
    found.push(`has the addresses ${link.addresses.join(", ")}`);
  if (link.parent !== parentName(on)) found.push(`hangs on ${link.parent}`);
  if (isPinned(wanted) && !link.isPinned) found.push(`${parentName(on)} was not told of`);
  return found.map((text) => `has a link ${name} that ${text}`);
}

function routeDifferences(want: EdgeNetwork, { routes }: SeenNetwork): string[] {
  const wanted = desiredRoute(want);
  const leading = routes.filter(({ to, via }) => via !== null || to === "default");
  const said = leading.map(({ to, via, device }) => `${to} via ${via} on ${device}`).join(", ");
  const meant = wanted === null ? "" : `default via ${wanted.via} on ${wanted.device}`;
  return said === meant ? [] : [`has the way out "${said}" and not "${meant}"`];
}
