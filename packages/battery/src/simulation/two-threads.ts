import { Worker } from "node:worker_threads";
import { merged, runSeeds, type SeedRange, type SeedsResult } from "./run-seeds.ts";

type Message = { readonly done: number } | { readonly result: SeedsResult };

/** Runs the seeds, half of them in a second thread. */
export async function runInTwoThreads(
  { first, count, mostBad, badCount }: SeedRange,
  progress: (done: number) => void,
): Promise<SeedsResult> {
  const here = Math.ceil(count / 2);
  const done = [0, 0];
  const note = (thread: 0 | 1) => (seeds: number) => {
    done[thread] = seeds;
    progress((done[0] ?? 0) + (done[1] ?? 0));
  };
  if (count - here === 0) return runSeeds({ first, count, mostBad, badCount }, note(0));
  const [mine, others] = await Promise.all([
    runSeeds({ first, count: here, mostBad, badCount }, note(0)),
    inThread({ first: first + here, count: count - here, mostBad, badCount }, note(1)),
  ]);
  return merged(mine, others);
}

function inThread(range: SeedRange, progress: (done: number) => void): Promise<SeedsResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./seed-thread.ts", import.meta.url), { workerData: range });
    worker.on("message", (message: Message) => {
      if ("result" in message) resolve(message.result);
      else progress(message.done);
    });
    worker.on("error", reject);
    worker.on("exit", (code) => reject(new Error(`the thread of the simulation ended with ${code}`)));
  });
}
