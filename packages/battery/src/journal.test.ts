import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { beginJournal, noteInJournal, readJournal } from "./journal.ts";
import type { Mutant, Row } from "./row.ts";
import type { Task } from "./tasks.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-journal-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const mutant: Mutant = { name: "no-lock", removes: "the lock", patches: [], expects: /twice/ };
const row: Row = { id: "A1", title: "Row A1", minutes: 1, mutants: [mutant], run: () => Promise.reject() };
const rowTask: Task = { row, mutant: null, scale: "full" };
const mutantTask: Task = { row, mutant, scale: "sample" };
const outcome = { result: { cases: 3, violations: [] }, seconds: 2 };

test("a journal records what ended, by row and mutant, and how long the run took", () => {
  const file = join(folder, "journal");
  expect(readJournal(file)).toBeNull();
  beginJournal(file, { commit: "abc", seed: 7, rows: ["A1"], failed: false });
  expect(readJournal(file)).toMatchObject({
    commit: "abc",
    seed: 7,
    rows: ["A1"],
    failed: false,
    minutes: 0,
  });
  noteInJournal(file, { task: rowTask, outcome }, 2.5);
  const journal = readJournal(file);
  expect(journal?.minutes).toBe(2.5);
  expect(journal?.outcomeOf(rowTask)).toEqual(outcome);
  expect(journal?.outcomeOf(mutantTask)).toBeUndefined();
});

test("a line that was cut off by a kill is left out", () => {
  const file = join(folder, "journal");
  beginJournal(file, { commit: "abc", seed: 7, rows: ["A1"], failed: false });
  noteInJournal(file, { task: rowTask, outcome }, 1);
  appendFileSync(file, '{"row":"A1","mutant":"no-lo');
  expect(readJournal(file)?.outcomeOf(rowTask)).toEqual(outcome);
  expect(readJournal(file)?.outcomeOf(mutantTask)).toBeUndefined();
});
