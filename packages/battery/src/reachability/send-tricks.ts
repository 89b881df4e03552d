import { maxShots, type PacketStation } from "@kule/testing/packets/packet-station";
import type { Shot } from "@kule/testing/packets/volley";
import type { Cabling } from "./segments.ts";
import type { Trick } from "./trick.ts";

export type TricksJudged = {
  readonly violations: readonly string[];
  readonly frames: number;
  readonly seconds: number;
};

const tries = 3;

/**
 * Sends the frames of every trick, and reports which arrived where they must not, or did not arrive where
 * they must.
 */
export async function sendTricks(
  station: PacketStation,
  cabling: Cabling,
  tricks: readonly Trick[],
): Promise<TricksJudged> {
  const began = performance.now();
  const violations: string[] = [];
  let frames = 0;
  let open = tricks;
  for (let round = 1; round <= tries && open.length > 0; round += 1) {
    const missing: Trick[] = [];
    for (let first = 0; first < open.length; first += maxShots) {
      const some = open.slice(first, first + maxShots);
      const flows = station.flows(some.length);
      const shots = some.flatMap((trick, index) => shotsOf(trick, flows[index] ?? 0));
      frames += shots.length;
      const { arrived, overheard, unsent } = await station.shoot(shots);
      if (unsent.length > 0) throw new Error(`${unsent.length} frames could not be sent`);
      const seen = Map.groupBy([...arrived, ...overheard], ({ flow }) => flow);
      const arrivals = Map.groupBy(arrived, ({ flow }) => flow);
      for (const [index, trick] of some.entries()) {
        const flow = flows[index] ?? 0;
        for (const { place, device } of seen.get(flow) ?? [])
          if (cabling.segmentAt(place, device) !== trick.within || place === trick.mustNot)
            violations.push(`${trick.name}: came to ${place} ${device}`);
        if (trick.must !== undefined && !arrivals.get(flow)?.some(({ place }) => place === trick.must))
          missing.push(trick);
      }
    }
    open = missing;
  }
  violations.push(...open.map(({ name, must }) => `${name}: never came to ${must}`));
  return { violations, frames, seconds: (performance.now() - began) / 1000 };
}

const shotsOf = ({ place, device, frames, must }: Trick, flow: number): Shot[] =>
  frames(flow).map((frame) => ({
    ...{ flow, place, device, by: "frame", frame: frame.toString("base64") },
    until: must === undefined ? "nothing" : "arrived",
  }));
