// U1: the updater is killed at every boundary between two changes of the disk, and at a second one while it takes the first up.

import { type Behaviour, UpdateRig } from "@kule/agent/testing/update-rig";
import type { Part } from "./part.ts";

type Way = { readonly name: string; readonly does: Behaviour; readonly ends: string; readonly state: string };

const WAYS: readonly Way[] = [
  { name: "to a version that works", does: {}, ends: "1.1.0", state: "done" },
  { name: "to one that dies after 40 s", does: { endsAfter: 40 }, ends: "1.0.0", state: "rolled_back" },
  { name: "to one that says it is another", does: { says: "1.0.9" }, ends: "1.0.0", state: "failed" },
];

/** The timer's, and more. */
const PAUSE_MILLISECONDS = 300_000;

/** @param second the point of the updater that takes it up at which that is killed too; null: it is not */
async function killed(way: Way, first: number, second: number | null): Promise<string[]> {
  const rig = new UpdateRig();
  try {
    rig.ask("1.1.0", way.does);
    await rig.run(first);
    let where = `${way.name}, killed at ${rig.trace.at(-1)}`;
    const found = rig.flaws();
    if (first % 2 === 1) rig.reboot();
    rig.pass(PAUSE_MILLISECONDS);
    if (second !== null) {
      const { end } = await rig.run(second);
      if (end === "killed") where += ` and at ${rig.trace.at(-1)}`;
      found.push(...rig.flaws());
      rig.pass(PAUSE_MILLISECONDS);
    }
    const run = await rig.runToEnd();
    found.push(...rig.flaws());
    const { phase, result } = rig.state;
    if (run.end !== "done") found.push(`the next updater ends as ${run.end}`);
    if (
      phase !== "idle" ||
      rig.current !== way.ends ||
      rig.updater !== way.ends ||
      result?.state !== way.state
    )
      found.push(
        `it ends with ${rig.current}, ${phase}, ${result?.state}, and not with ${way.ends}, ${way.state}`,
      );
    return found.map((each) => `${where}: ${each}`);
  } finally {
    rig.end();
  }
}

async function pointsOf({ does }: Way): Promise<number> {
  const rig = new UpdateRig();
  try {
    rig.ask("1.1.0", does);
    await rig.run();
    return rig.trace.length;
  } finally {
    rig.end();
  }
}

export const killedUpdaters: Part = async ({ scale, random, progress }) => {
  const found: string[] = [];
  let cases = 0;
  for (const way of WAYS) {
    const points = await pointsOf(way);
    if (points < 15) found.push(`${way.name} has only ${points} points`);
    for (let first = 0; first < points && found.length === 0; first += 1) {
      found.push(...(await killed(way, first, null)));
      cases += 1;
      const seconds =
        scale === "full"
          ? Array.from({ length: points }, (_, second) => second)
          : [Math.floor(random() * points)];
      for (const second of seconds) {
        if (found.length > 0) break;
        found.push(...(await killed(way, first, second)));
        cases += 1;
      }
    }
    progress(`${way.name}: ${cases} kills so far`);
  }
  return { what: "killed updaters", cases, found };
};
