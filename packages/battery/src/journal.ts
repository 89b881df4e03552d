import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { RowRunOutcome } from "./row-process.ts";
import type { DoneTask, Task } from "./tasks.ts";

/** The run of a journal: results of another commit or seed are not mixed into it. */
export type JournalHead = {
  readonly commit: string;
  readonly seed: number;
  /** The ids of the run's rows. */
  readonly rows: readonly string[];
  /** Whether it runs rows again that did not pass, into the page that is there. */
  readonly failed: boolean;
};

type Line = { readonly row: string; readonly mutant: string | null; readonly minutes: number } & {
  readonly outcome: RowRunOutcome;
};

/** What an interrupted run of the battery has recorded. */
export type Journal = JournalHead & {
  /** How long the run took before it was interrupted, all parts of it together. */
  readonly minutes: number;
  /** The outcome of each task that ended, by its row and mutant. */
  outcomeOf(task: Task): RowRunOutcome | undefined;
};

export function beginJournal(file: string, head: JournalHead): void {
  writeFileSync(file, `${JSON.stringify(head)}\n`);
}

/** One line a task, written when the task ends. `minutes` is how long the whole run has taken. */
export function noteInJournal(file: string, { task, outcome }: DoneTask, minutes: number): void {
  const line: Line = { row: task.row.id, mutant: task.mutant?.name ?? null, minutes, outcome };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Null when there is none. A last line that was cut off by a kill is left out: its task is run again. */
export function readJournal(file: string): Journal | null {
  if (!existsSync(file)) return null;
  const [head, ...lines] = readFileSync(file, "utf8").split("\n").slice(0, -1);
  if (head === undefined) return null;
  const read = lines.map((line) => JSON.parse(line) as Line);
  const key = (row: string, mutant: string | null) => `${row} ${mutant ?? ""}`;
  const outcomes = new Map(read.map(({ row, mutant, outcome }) => [key(row, mutant), outcome]));
  return {
    ...(JSON.parse(head) as JournalHead),
    minutes: Math.max(0, ...read.map(({ minutes }) => minutes)),
    outcomeOf: ({ row, mutant }) => outcomes.get(key(row.id, mutant?.name ?? null)),
  };
}
