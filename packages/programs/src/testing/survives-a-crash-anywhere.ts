// Whether the end of a program is the same wherever the process died. Each crash point that a run passes gets
// a world of its own, in which the run dies just there and another run follows.

import { deepStrictEqual } from "node:assert/strict";
import { RetryLater } from "../errors.ts";

export class SimulatedCrash extends Error {}

export type CrashCase = {
  /** One run of the program; `at` is the crash hook for it. */
  run(at: (name: string) => void): Promise<unknown>;
  /** The final state, without what always differs between two worlds. */
  state(): Promise<unknown>;
  /** The effects, and how often each was done. */
  effects(): Promise<Record<string, number>>;
};

/** In a healthy region a run that must be retried succeeds soon. */
const RUNS_AFTER_THE_CRASH = 3;

/**
 * Throws an AssertionError naming the crash point after which the end, or the number of effects, is another one
 * than without a crash. Answers the points it went through.
 */
export async function survivesACrashAnywhere(newCase: () => Promise<CrashCase>): Promise<string[]> {
  const points: string[] = [];
  const undisturbed = await newCase();
  await undisturbed.run((name) => {
    points.push(name);
  });
  const expected = { state: await undisturbed.state(), effects: await undisturbed.effects() };
  for (const [index, point] of points.entries()) {
    const crashing = await newCase();
    let passed = 0;
    const died = await crashing
      .run(() => {
        if (passed++ === index) throw new SimulatedCrash(point);
      })
      .then(
        () => null,
        (error: unknown) => error,
      );
    if (!(died instanceof SimulatedCrash))
      throw new Error(`no crash at ${point} (${index})`, { cause: died });
    await untilDone(crashing);
    const ended = { state: await crashing.state(), effects: await crashing.effects() };
    deepStrictEqual(ended, expected, `after a crash at ${point} (point ${index})`);
  }
  return points;
}

async function untilDone(crashed: CrashCase): Promise<void> {
  for (let run = 1; ; run++) {
    try {
      await crashed.run(() => {});
      return;
    } catch (error) {
      if (!(error instanceof RetryLater) || run === RUNS_AFTER_THE_CRASH) throw error;
    }
  }
}
