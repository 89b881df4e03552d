import { expect, test } from "vitest";
import { inParallel } from "./in-parallel.ts";

test("does the work for every number once, by so many clients at a time", async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  const results = await inParallel(50, 7, async (index) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    seen.push(index);
    return index * 2;
  });
  expect(results).toEqual(Array.from({ length: 50 }, (_, index) => index * 2));
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  expect(most).toBe(7);
});

test("nothing to do is done at once", async () => {
  expect(await inParallel(0, 5, async () => 1)).toEqual([]);
});
