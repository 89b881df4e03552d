import { expect, test } from "vitest";
import { RestartPause } from "./restart-pause.ts";

test("the backoff grows up to ten seconds, never ends, and is reset after a run of half a minute", () => {
  let nowMs = 0;
  const pause = new RestartPause(() => nowMs);
  const afterRunOf = (ms: number) => {
    pause.begin();
    nowMs += ms;
    return pause.afterEnd();
  };
  expect(Array.from({ length: 8 }, () => afterRunOf(29_999))).toEqual([
    200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000,
  ]);
  for (let times = 0; times < 1_000; times += 1) expect(afterRunOf(0)).toBe(10_000);
  expect([afterRunOf(30_000), afterRunOf(5)]).toEqual([200, 400]);
});
