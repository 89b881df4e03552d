// A thread that runs some thousands of the seeds.

import { parentPort, workerData } from "node:worker_threads";
import { runSeeds, type SeedRange } from "./run-seeds.ts";

const result = await runSeeds(workerData as SeedRange, (done) => parentPort?.postMessage({ done }));
parentPort?.postMessage({ result });
