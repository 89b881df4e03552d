import type { RowResult, RowRun } from "../row.ts";
import { askable, explainViolations } from "./ask-explain.ts";
import { askGateways } from "./ask-gateways.ts";
import { gatewayStates } from "./gateway-states.ts";
import { routerMacs } from "./gateways.ts";
import { internetTricks, publicTricks, rogueTricks } from "./outer-tricks.ts";
import { questionsOf } from "./questions.ts";
import { serverTricks } from "./server-tricks.ts";
import { shootQuestions } from "./shoot-questions.ts";
import { shootTricks } from "./shoot-tricks.ts";
import { type StandingTown, withTown } from "./with-town.ts";

/** Which of the gateways' states are tried, and of how many packets in each `explain` is asked. */
const scales = {
  sample: { states: [1, 2], explained: 150 },
  full: { states: [0, 1, 2, 3], explained: 1500 },
} as const;

type Totals = {
  packets: number;
  allowed: number;
  denied: number;
  repeated: number;
  frames: number;
  seconds: number;
  explained: number;
  readonly violations: string[];
};

/** Builds the town once and sends everything through it, in every state of its gateways. */
export async function runMatrix(run: RowRun): Promise<RowResult> {
  return withTown(async ({ scene, town, rogues, cabling }) => {
    run.progress(`${town.servers.length} servers stand`);
    const totals: Totals = {
      ...{ packets: 0, allowed: 0, denied: 0, repeated: 0, frames: 0, seconds: 0, explained: 0 },
      violations: [],
    };
    const { states } = scales[run.scale];
    let now = town;
    for (const [index, state] of gatewayStates(town).entries()) {
      if (!(states as readonly number[]).includes(index)) continue;
      now = await askGateways(scene, now, state);
      await tryTown({ scene, cabling, rogues, town: now }, state.name, totals, run);
    }
    const { violations, packets, frames, seconds, ...more } = totals;
    return {
      cases: packets + frames,
      violations,
      figures: {
        servers: town.servers.length,
        "ordered pairs": town.servers.length * (town.servers.length - 1),
        "packets by sockets": packets,
        "of them allowed": more.allowed,
        "of them denied": more.denied,
        "sent once more": more.repeated,
        "frames of tricks": frames,
        "answers of explain": more.explained,
        "packets and frames a second": Math.round((packets + frames) / seconds),
      },
    };
  });
}

async function tryTown(
  { scene, cabling, rogues, town }: StandingTown,
  state: string,
  totals: Totals,
  run: RowRun,
): Promise<void> {
  const questions = questionsOf(town);
  const judged = await shootQuestions(scene.station, cabling, town, questions);
  const routers = routerMacs(town);
  const tricks = await shootTricks(scene.station, cabling, [
    ...serverTricks(town, cabling, routers),
    ...publicTricks(town, cabling, routers),
    ...internetTricks(town, cabling, routers),
    ...rogueTricks(town, cabling, routers, rogues),
  ]);
  await scene.forgetNeighbours(town.servers.map(({ vmid }) => `vm${vmid}`));
  totals.packets += questions.length + judged.repeated;
  totals.allowed += judged.allowed;
  totals.denied += judged.denied;
  totals.repeated += judged.repeated;
  totals.frames += tricks.frames;
  totals.seconds += judged.seconds + tricks.seconds;
  const asked = someOf(askable(town, questions), scales[run.scale].explained, run);
  totals.explained += asked.length;
  const found = [...judged.violations, ...tricks.violations, ...(await explainViolations(town, asked))];
  totals.violations.push(...found.map((text) => `${state}: ${text}`));
  run.progress(
    `${state}: ${questions.length} packets in ${judged.seconds.toFixed(1)} s, ${tricks.frames} frames in ${tricks.seconds.toFixed(1)} s, ${asked.length} answers of explain, ${found.length} violations`,
  );
}

function someOf<T>(all: readonly T[], count: number, { random }: RowRun): readonly T[] {
  if (count >= all.length) return all;
  return Array.from({ length: count }, () => all[Math.floor(random() * all.length)]).flatMap((each) =>
    each === undefined ? [] : [each],
  );
}
