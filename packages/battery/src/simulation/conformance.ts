// Compares the simulation's control plane with the real one. Both get the same random calls, and every answer
// and the final state must be the same. Time passes only where a sequence says so: by SQL in the database,
// directly in the model.

import { ServerWorld } from "@kule/api/testing/server-world";
import { ControlPlaneModel } from "./control-plane.ts";
import { Dice } from "./dice.ts";
import { RealControlPlane } from "./real-control-plane.ts";
import { SCRIPTS, type Script } from "./scripts.ts";
import { drawMove, type Move, playOnModel } from "./sequence-moves.ts";
import { stateOfModel } from "./sequence-state.ts";

export type ConformanceResult = {
  readonly sequences: number;
  readonly calls: number;
  readonly violations: readonly string[];
};

const MOVES_A_SEQUENCE = 48;
const PUBLIC_IPS = 2;
const FIREWALLS = 2;
/** The whole state is compared after so many moves, and at the end. */
const COMPARE_EVERY = 8;
const MOST_VIOLATIONS = 20;
/** Nothing becomes due by itself within a sequence. */
export const LONG_SECONDS = 7_200;

export async function checkConformance(
  sequences: number,
  seed: number,
  progress: (text: string) => void,
): Promise<ConformanceResult> {
  const world = await ServerWorld.open({ leaseSeconds: LONG_SECONDS, removalBufferSeconds: LONG_SECONDS });
  const violations: string[] = [];
  let calls = 0;
  let done = 0;
  try {
    for (const script of SCRIPTS) {
      const played = await playSequence(world, done, new Dice(seed), script);
      done += 1;
      calls += played.calls;
      violations.push(...played.differences.map((text) => `model and API differ: ${script.name}: ${text}`));
    }
    for (; done < sequences + SCRIPTS.length && violations.length < MOST_VIOLATIONS; done++) {
      const played = await playSequence(world, done, new Dice(seed + done));
      calls += played.calls;
      violations.push(
        ...played.differences.map((text) => `model and API differ: sequence ${done} of ${seed}: ${text}`),
      );
      if (done % 20 === 19) progress(`${done + 1} sequences played to the API and to the model`);
    }
  } finally {
    await world.close();
  }
  return { sequences: done, calls, violations };
}

/** One sequence of a run of checkConformance with that seed; what differs. */
export async function replaySequence(seed: number, number: number): Promise<readonly string[]> {
  const world = await ServerWorld.open({ leaseSeconds: LONG_SECONDS, removalBufferSeconds: LONG_SECONDS });
  try {
    return (await playSequence(world, number, new Dice(seed + number))).differences;
  } finally {
    await world.close();
  }
}

async function playSequence(
  world: ServerWorld,
  number: number,
  dice: Dice,
  script?: Script,
): Promise<{ calls: number; differences: string[] }> {
  let now = Date.UTC(2026, 0, 1);
  // Few numbers and few attempts, so that both run out now and then.
  const maxAttempts = dice.pick([2, 8]);
  const vmidRange = { first: 20_000, last: 20_000 + dice.pick([3, 30]) };
  const model = new ControlPlaneModel(
    {
      leaseSeconds: LONG_SECONDS,
      removalBufferSeconds: LONG_SECONDS,
      vmidRange,
      addresses: 200,
      publicIps: PUBLIC_IPS,
      firewalls: FIREWALLS,
      maxAttempts,
    },
    () => now,
    () => 0.5,
  );
  const real = await RealControlPlane.open(world, number, {
    vmidRange,
    maxAttempts,
    publicIps: PUBLIC_IPS,
    firewalls: FIREWALLS,
  });
  const moves: Move[] = [];
  const fail = (what: string, expected: unknown, found: unknown) => ({
    calls: moves.length,
    differences: [
      `${what}: the API says ${JSON.stringify(found)}, the model ${JSON.stringify(expected)} after ${moves.map(inWords).join(", ")}`,
    ],
  });
  const length = script?.moves.length ?? MOVES_A_SEQUENCE;
  for (let count = 1; count <= length; count++) {
    const move = script?.moves[count - 1] ?? drawMove(model, dice, moves);
    moves.push(move);
    now += 10;
    const expected = playOnModel(model, move);
    const found = await real.play(move);
    if (JSON.stringify(expected) !== JSON.stringify(found)) return fail("the last answer", expected, found);
    if (count % COMPARE_EVERY !== 0 && count < length) continue;
    const wanted = stateOfModel(model.state);
    const state = await real.state();
    for (const part of Object.keys(wanted) as (keyof typeof wanted)[])
      if (JSON.stringify(wanted[part]) !== JSON.stringify(state[part]))
        return fail(part, wanted[part], state[part]);
  }
  await real.renewAll();
  return { calls: moves.length, differences: [] };
}

function inWords(move: Move): string {
  return Object.values(move)
    .map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value)))
    .join(" ");
}
