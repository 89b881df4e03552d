import { setTimeout as delay } from "node:timers/promises";
import type { Answer } from "@kule/api/testing/api-caller";
import { percentile } from "../judgement.ts";

const PAUSE_MILLISECONDS = 20;

export type Reads = {
  readonly count: number;
  readonly p99Milliseconds: number;
  /** Answers that were none. */
  readonly refused: readonly number[];
};

/** Reads repeatedly in the background, and records how long each read took. */
export function sampleReads(read: () => Promise<Answer>): { stop(): Promise<Reads> } {
  const milliseconds: number[] = [];
  const refused: number[] = [];
  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const { status } = await read();
      milliseconds.push(performance.now() - startedAt);
      if (status !== 200) refused.push(status);
      await delay(PAUSE_MILLISECONDS);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await reading;
      return {
        count: milliseconds.length,
        p99Milliseconds: percentile(milliseconds, 0.99) ?? 0,
        refused,
      };
    },
  };
}
