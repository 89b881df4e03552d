import fc from "fast-check";
import { expect, test } from "vitest";
import { nextProgress } from "./progress.ts";
import { backoffSeconds, countsAsAttempt, defaultMaxAttempts, hasAttemptsLeft } from "./retry.ts";

test("the wait doubles up to five minutes", () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 50].map((attempt) => backoffSeconds(attempt, 0.5))).toEqual([
    5, 10, 20, 40, 80, 160, 300, 300, 300,
  ]);
});

test("jitter spreads the wait by a tenth either way", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, jitter) => {
        const middle = backoffSeconds(attempt, 0.5);
        expect(Math.abs(backoffSeconds(attempt, jitter) - middle)).toBeLessThanOrEqual(middle * 0.1001);
      },
    ),
  );
});

test("the eighth attempt is the last", () => {
  expect(hasAttemptsLeft(7, defaultMaxAttempts)).toBe(true);
  expect(hasAttemptsLeft(8, defaultMaxAttempts)).toBe(false);
});

test("a DNS provider that is away is waited for with long pauses, and uses up no last attempt", () => {
  const counted = (code: string | null, attempt: number) =>
    countsAsAttempt(code, attempt, defaultMaxAttempts);
  expect([1, 6, 7, 8].map((attempt) => counted("dns_unavailable", attempt))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([counted("hypervisor_unreachable", 8), counted(null, 8)]).toEqual([true, true]);
});

test("progress never goes back and reaches 100 only at the end", () => {
  const phase = fc.constantFrom("observe", "plan", "apply", "verify", null);
  const report = fc.record({ phase, reported: fc.option(fc.integer({ min: 0, max: 100 })) });
  fc.assert(
    fc.property(fc.array(report), (reports) => {
      let progress = 0;
      for (const { phase: at, reported } of reports) {
        const next = nextProgress(progress, at, reported);
        expect(next).toBeGreaterThanOrEqual(progress);
        expect(next).toBeLessThan(100);
        progress = next;
      }
    }),
  );
});

test("a phase alone moves it", () => {
  expect(nextProgress(0, "apply", null)).toBe(20);
  expect(nextProgress(40, "apply", null)).toBe(40);
  expect(nextProgress(40, "verify", null)).toBe(90);
  expect(nextProgress(40, "apply", 100)).toBe(99);
});
