import { describe, expect, test } from "vitest";
import type { Mutant, Row } from "./row.ts";
import {
  type RowReport,
  readScoreboard,
  renderScoreboard,
  rowsLeft,
  scoreboardOf,
  withRowsAgain,
} from "./scoreboard.ts";

const facts = { seed: 7, commit: "abc", date: "2026-01-02", minutes: 61.4, machine: "2 cores" };
const mutant: Mutant = { name: "no-lock", removes: "the lock", patches: [], expects: /twice/ };

function report(
  id: string,
  found: { violations?: string[]; cases?: number; mutant?: string[] } = {},
): RowReport {
  const { violations = [], cases = 12_345, mutant: ofMutant = ["done twice"] } = found;
  const row: Row = { id, title: `Row ${id}`, minutes: 1, mutants: [mutant], run: () => Promise.reject() };
  const outcome = { result: { cases, violations, figures: { jobs: 5 }, recoverySeconds: [1.5] }, seconds: 9 };
  const caught = { result: { cases: 1, violations: ofMutant }, seconds: 1 };
  return { row, outcome, mutants: [{ mutant, outcome: caught }] };
}

const caught = (name: string) => ({
  mutant: { ...mutant, name },
  outcome: { result: { cases: 1, violations: ["done twice"] }, seconds: 1 },
});
const brokenDown: RowReport = { ...report("A4"), outcome: { error: "it hung", seconds: 360 } };

describe("the scoreboard", () => {
  test.each([
    ["found nothing, and its mutant", report("A1"), true],
    ["found something", report("A1", { violations: ["lost", "twice"] }), false],
    ["ran no case", report("A1", { cases: 0 }), false],
    ["missed its mutant", report("A1", { mutant: [] }), false],
    ["found something else in its mutant", report("A1", { mutant: ["lost"] }), false],
    ["broke down", brokenDown, false],
    ["has no mutant", { ...report("A1"), row: { ...report("A1").row, mutants: [] }, mutants: [] }, false],
  ] as const)("has a row that %s", (_what, one, isFine) => {
    const written = renderScoreboard(scoreboardOf([one], facts));
    expect(rowsLeft(readScoreboard(written), [one.row])).toEqual(isFine ? [] : [one.row]);
    expect(written).toContain(`${isFine ? 1 : 0} of 1 rows passed`);
  });

  test("is read as it was written", () => {
    const written = renderScoreboard(scoreboardOf([report("A1"), brokenDown, report("B10")], facts));
    expect(renderScoreboard(readScoreboard(written))).toBe(written);
    expect(written).toContain("2 of 3 rows passed, 3 of 3 mutants caught");
  });

  test("does not count a row as passed whose mutants have changed, nor keep a removed one", () => {
    const { row } = report("A1");
    const written = readScoreboard(renderScoreboard(scoreboardOf([report("A1"), report("A2")], facts)));
    const changed: Row = { ...row, mutants: [{ ...mutant, name: "another" }] };
    const more: Row = { ...row, mutants: [mutant, { ...mutant, name: "another" }] };
    expect(rowsLeft(written, [changed])).toEqual([changed]);
    expect(rowsLeft(written, [more])).toEqual([more]);
    // Otherwise its page would still list the removed one.
    const two = renderScoreboard(
      scoreboardOf(
        [{ ...report("A1"), row: more, mutants: [...report("A1").mutants, caught("another")] }],
        facts,
      ),
    );
    expect(rowsLeft(readScoreboard(two), [more])).toEqual([]);
    expect(rowsLeft(readScoreboard(two), [row])).toEqual([row]);
    expect(rowsLeft(written, [report("A3").row])).toHaveLength(1);
    const again = scoreboardOf([report("A1")], facts);
    expect(withRowsAgain(written, again, [row]).entries.map(({ id }) => id)).toEqual(["A1"]);
  });

  test("says which rows were run again", () => {
    const before = readScoreboard(renderScoreboard(scoreboardOf([report("A1"), brokenDown], facts)));
    const again = scoreboardOf([report("A4")], { ...facts, commit: "def", minutes: 2 });
    const written = renderScoreboard(withRowsAgain(before, again, [report("A1").row, brokenDown.row]));
    expect(written).toContain("2 of 2 rows passed");
    expect(written).toContain("* 2 rows: seed 7, commit abc, 2026-01-02, 61 minutes");
    expect(written).toContain("* Run again after it failed, 1 row: seed 7, commit def");
    expect(written).toMatch(/\| A1 .*\| abc \|\n\| A4 .*\| def \|/);
  });
});
