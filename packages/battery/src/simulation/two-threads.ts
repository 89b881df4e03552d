import { Worker } from "node:worker_threads";
import { merged, noSeeds, type SeedRange, type SeedsResult } from "./run-seeds.ts";

type Message = { readonly done: number } | { readonly result: SeedsResult };

/**
 * A thread ends after so many: an agent that is killed in a seed leaves abort signals that Node keeps for as
 * long as they may still abort, about 25 kB a seed, and becomes slower and slower.
 */
const SEEDS_A_THREAD = 4_000;

/** Runs the seeds, two threads at a time. `progress` is called now and then with how many are done. */
export async function runInTwoThreads(
  { first, count, mostBad, badCount }: SeedRange,
  progress: (done: number) => void,
): Promise<SeedsResult> {
  const share = Math.max(1, Math.min(SEEDS_A_THREAD, Math.ceil(count / 2)));
  let next = 0;
  let finished = 0;
  const running: [number, number] = [0, 0];
  const lane = async (thread: 0 | 1): Promise<SeedsResult[]> => {
    const results: SeedsResult[] = [];
    while (next < count && Atomics.load(badCount, 0) < mostBad) {
      const part = { first: first + next, count: Math.min(share, count - next), mostBad, badCount };
      next += part.count;
      const result = await inThread(part, (done) => {
        running[thread] = done;
        progress(finished + running[0] + running[1]);
      });
      running[thread] = 0;
      finished += result.seeds;
      results.push(result);
    }
    return results;
  };
  const results = (await Promise.all([lane(0), lane(1)])).flat();
  return results.reduce(merged, noSeeds());
}

function inThread(range: SeedRange, progress: (done: number) => void): Promise<SeedsResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./seed-thread.ts", import.meta.url), { workerData: range });
    let result: SeedsResult | null = null;
    worker.on("message", (message: Message) => {
      if ("result" in message) result = message.result;
      else progress(message.done);
    });
    worker.on("error", reject);
    worker.on("exit", (code) => {
      // Only once the thread is gone, so that there are never more than two.
      if (result === null) reject(new Error(`the thread of the simulation ended with ${code}`));
      else resolve(result);
    });
  });
}
