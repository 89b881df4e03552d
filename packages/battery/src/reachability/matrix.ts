import type { RowResult, RowRun } from "../row.ts";
import { explainQuestions, explainViolations } from "./explain-questions.ts";
import { gatewayStates } from "./gateway-states.ts";
import { routerMacs } from "./gateways.ts";
import { internetTricks, publicTricks, rogueTricks } from "./outer-tricks.ts";
import { questionsOf } from "./questions.ts";
import { requestGateways } from "./request-gateways.ts";
import { sendQuestions } from "./send-questions.ts";
import { sendTricks } from "./send-tricks.ts";
import { serverTricks } from "./server-tricks.ts";
import { type RunningTopology, withTopology } from "./with-topology.ts";

/** Which of the gateways' states are tried, and for how many packets in each `explain` is called. */
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

/** Builds the topology once and sends everything through it, in every state of its gateways. */
export async function runMatrix(run: RowRun): Promise<RowResult> {
  return withTopology(async ({ scene, topology, rogues, cabling }) => {
    run.progress(`${topology.servers.length} servers stand`);
    const totals: Totals = {
      ...{ packets: 0, allowed: 0, denied: 0, repeated: 0, frames: 0, seconds: 0, explained: 0 },
      violations: [],
    };
    const { states } = scales[run.scale];
    let now = topology;
    for (const [index, state] of gatewayStates(topology).entries()) {
      if (!(states as readonly number[]).includes(index)) continue;
      now = await requestGateways(scene, now, state);
      await tryTopology({ scene, cabling, rogues, topology: now }, state.name, totals, run);
    }
    const { violations, packets, frames, seconds, ...more } = totals;
    return {
      cases: packets + frames,
      violations,
      figures: {
        servers: topology.servers.length,
        "ordered pairs": topology.servers.length * (topology.servers.length - 1),
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

async function tryTopology(
  { scene, cabling, rogues, topology }: RunningTopology,
  state: string,
  totals: Totals,
  run: RowRun,
): Promise<void> {
  const questions = questionsOf(topology);
  const judged = await sendQuestions(scene.station, cabling, topology, questions);
  const routers = routerMacs(topology);
  const tricks = await sendTricks(scene.station, cabling, [
    ...serverTricks(topology, cabling, routers),
    ...publicTricks(topology, cabling, routers),
    ...internetTricks(topology, cabling, routers),
    ...rogueTricks(topology, cabling, routers, rogues),
  ]);
  await scene.forgetNeighbours(topology.servers.map(({ vmid }) => `vm${vmid}`));
  totals.packets += questions.length + judged.repeated;
  totals.allowed += judged.allowed;
  totals.denied += judged.denied;
  totals.repeated += judged.repeated;
  totals.frames += tricks.frames;
  totals.seconds += judged.seconds + tricks.seconds;
  const asked = someOf(explainQuestions(topology, questions), scales[run.scale].explained, run);
  totals.explained += asked.length;
  const found = [...judged.violations, ...tricks.violations, ...(await explainViolations(topology, asked))];
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
