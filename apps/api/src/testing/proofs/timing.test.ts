import { expect, it } from "vitest";
import { separation, standardError } from "./timing.ts";

const spin = (milliseconds: number) => async () => {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
};

it("distinguishes a call that takes longer from one that does not", async () => {
  const { seen } = await separation({ foreign: spin(0.3), absent: spin(0.05), control: spin(0.05) }, 200);
  expect(seen).toBeGreaterThan(0.9);
});

it("measures the effect of chance alone", () => {
  expect(standardError(400)).toBeCloseTo(0.0204, 3);
  expect(standardError(4000)).toBeCloseTo(0.00646, 4);
});
