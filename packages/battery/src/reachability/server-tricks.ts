import { falseFragments, falseMacs, falseSources } from "./false-sources.ts";
import { ledAstray } from "./led-astray.ts";
import { arpTricks, leaseTricks } from "./neighbourhood-tricks.ts";
import type { Cabling } from "./segments.ts";
import { type RouterMacs, Standpoint } from "./standpoint.ts";
import type { Town } from "./town.ts";
import type { Trick } from "./trick.ts";
import { version6Tricks } from "./version6-tricks.ts";
import { wrappedFrames } from "./wrapped-frames.ts";

/** What a server does on its private interface. */
export function serverTricks(town: Town, cabling: Cabling, routers: RouterMacs): Trick[] {
  return town.servers.flatMap((server) => {
    const from = new Standpoint(town, cabling, routers, server);
    return [
      ...falseSources(from),
      ...falseFragments(from),
      ...version6Tricks(from),
      ...arpTricks(from),
      ...leaseTricks(from),
      ...wrappedFrames(from),
      ...ledAstray(from),
      // Last: they leave a bridge misled.
      ...falseMacs(from),
    ];
  });
}
