import type { RowResult, RowRun } from "../row.ts";
import { askable, explainViolations } from "./ask-explain.ts";
import { applyGateways, type GatewayState, gatewayStates, routerMacs } from "./gateways.ts";
import { internetTricks, publicTricks, rogueTricks } from "./outer-tricks.ts";
import { questionsOf } from "./questions.ts";
import { serverTricks } from "./server-tricks.ts";
import { shootQuestions } from "./shoot-questions.ts";
import { shootTricks } from "./shoot-tricks.ts";
import { type StandingTown, withTown } from "./with-town.ts";

/** Which of the gateways' states are tried, and how many answers of `explain` are asked for. */
const scales = {
  sample: { states: [1], explained: 150 },
  full: { states: [0, 1, 2, 3], explained: Number.POSITIVE_INFINITY },
} as const;

type Totals = {
  packets: number;
  allowed: number;
  denied: number;
  repeated: number;
  frames: number;
  seconds: number;
  readonly violations: string[];
};

/** Builds the town once and sends everything through it, in every state of its gateways. */
export async function runMatrix(run: RowRun): Promise<RowResult> {
  return withTown(async ({ scene, town, rogues, cabling }) => {
    run.progress(`${town.servers.length} servers stand`);
    const totals: Totals = {
      ...{ packets: 0, allowed: 0, denied: 0, repeated: 0, frames: 0, seconds: 0 },
      violations: [],
    };
    const { states, explained } = scales[run.scale];
    for (const [index, state] of gatewayStates(town).entries()) {
      if (!(states as readonly number[]).includes(index)) continue;
      await tryState({ scene, cabling, rogues, town }, state, index + 1, totals, run);
    }
    // The API has no gateways yet, so it is asked about a world without; the same intent is what the packets were held to.
    const about = { ...town, intent: { ...town.intent, gateways: [] } };
    const asked = someOf(askable(about, questionsOf(about)), explained, run);
    const otherwise = await explainViolations(about, asked);
    totals.violations.push(...otherwise);
    run.progress(`${asked.length} answers of explain, ${otherwise.length} violations`);
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
        "answers of explain": asked.length,
        "packets and frames a second": Math.round((packets + frames) / seconds),
      },
    };
  });
}

async function tryState(
  { scene, cabling, rogues, town: before }: StandingTown,
  state: GatewayState,
  generation: number,
  totals: Totals,
  run: RowRun,
): Promise<void> {
  const town = await applyGateways(scene, before, state, generation);
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
  const found = [...judged.violations, ...tricks.violations];
  totals.violations.push(...found.map((text) => `${state.name}: ${text}`));
  run.progress(
    `${state.name}: ${questions.length} packets in ${judged.seconds.toFixed(1)} s, ${tricks.frames} frames in ${tricks.seconds.toFixed(1)} s, ${found.length} violations`,
  );
}

function someOf<T>(all: readonly T[], count: number, { random }: RowRun): readonly T[] {
  if (count >= all.length) return all;
  return Array.from({ length: count }, () => all[Math.floor(random() * all.length)]).flatMap((each) =>
    each === undefined ? [] : [each],
  );
}
