import { describe, expect, it } from "vitest";
import { failuresOf, type MutantRun, percentile, whyNotCaught } from "./judgement.ts";
import type { Mutant } from "./row.ts";

const mutant: Mutant = { name: "no-lock", removes: "the lock", patches: [], expects: /twice/ };
const row = { id: "A1", mutants: [mutant] };
const found = (...violations: string[]) => ({ seconds: 1, result: { cases: 3, violations } });
const caught: MutantRun = { mutant, outcome: found("done twice") };

describe("a row", () => {
  it("passes with cases, without violations, and with every mutant caught", () => {
    expect(failuresOf(row, found(), [caught])).toEqual([]);
  });

  it.each([
    ["that has no mutant", { id: "A1", mutants: [] }, found(), []],
    ["that did not run", row, undefined, [caught]],
    ["that broke down", row, { seconds: 1, error: "no Postgres" }, [caught]],
    ["that ran no case", row, { seconds: 1, result: { cases: 0, violations: [] } }, [caught]],
    ["that found something", row, found("a leak"), [caught]],
    ["whose mutant did not run", row, found(), []],
    ["whose mutant was not noticed", row, found(), [{ mutant, outcome: found() }]],
    ["whose mutant broke it down", row, found(), [{ mutant, outcome: { seconds: 1, error: "timeout" } }]],
  ] as const)("%s does not pass", (_what, judged, outcome, mutants) => {
    expect(failuresOf(judged, outcome, mutants)).toHaveLength(1);
  });
});

describe("a mutant", () => {
  it("is not caught by an unrelated failure", () => {
    expect(whyNotCaught({ mutant, outcome: found("no space left on device") })).toMatch(/something else/);
  });
});

describe("the 95th percentile", () => {
  it("is a value that was measured, and nothing of nothing", () => {
    expect(percentile([], 0.95)).toBe(null);
    expect(percentile([5], 0.95)).toBe(5);
    expect(
      percentile(
        Array.from({ length: 100 }, (_, index) => 100 - index),
        0.95,
      ),
    ).toBe(95);
  });
});
