import { falseFragments, falseMacs, falseSources } from "./false-sources.ts";
import { misdirectedFrames } from "./misdirected-frames.ts";
import { arpTricks, leaseTricks } from "./neighbourhood-tricks.ts";
import type { Cabling } from "./segments.ts";
import { type RouterMacs, Standpoint } from "./standpoint.ts";
import type { Topology } from "./topology.ts";
import type { Trick } from "./trick.ts";
import { version6Tricks } from "./version6-tricks.ts";
import { wrappedFrames } from "./wrapped-frames.ts";

/** Frames that a server sends on its private interface. */
export function serverTricks(topology: Topology, cabling: Cabling, routers: RouterMacs): Trick[] {
  return topology.servers.flatMap((server) => {
    const from = new Standpoint(topology, cabling, routers, server);
    return [
      ...falseSources(from),
      ...falseFragments(from),
      ...version6Tricks(from),
      ...arpTricks(from),
      ...leaseTricks(from),
      ...wrappedFrames(from),
      ...misdirectedFrames(from),
      // Last: they leave a bridge misled.
      ...falseMacs(from),
    ];
  });
}
