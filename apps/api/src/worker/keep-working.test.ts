import { expect, test } from "vitest";
import { createLog } from "../platform/log.ts";
import { keepWorking } from "./keep-working.ts";
import type { RunningWorker } from "./run.ts";

const log = createLog("silent");

test("a worker that cannot start, or ends by itself, is restarted until a stop signal", async () => {
  const told = Promise.withResolvers<void>();
  let starts = 0;
  let stops = 0;
  const start = async (): Promise<RunningWorker> => {
    starts += 1;
    if (starts === 1) throw new Error("connect ECONNREFUSED");
    if (starts === 2)
      return { ended: Promise.reject(new Error("could not complete jobs")), stop: async () => {} };
    if (starts === 3) return { ended: Promise.resolve(), stop: async () => {} };
    setTimeout(() => told.resolve(), 5);
    return {
      ended: new Promise(() => {}),
      stop: async () => {
        stops += 1;
      },
    };
  };
  const changes: boolean[] = [];
  await keepWorking(start, told.promise, log, { pauseMs: 1, onChange: (now) => changes.push(now) });
  expect([starts, stops]).toEqual([4, 1]);
  expect(changes).toEqual([true, false, true, false, true, false]);
});

test("one that cannot begin does not delay the stop", async () => {
  const told = Promise.withResolvers<void>();
  const start = () => {
    told.resolve();
    return Promise.reject(new Error("connect ECONNREFUSED"));
  };
  await keepWorking(start, told.promise, log, { pauseMs: 60_000 });
});
