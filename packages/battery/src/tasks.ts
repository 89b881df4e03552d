import { whyNotCaught } from "./judgement.ts";
import type { Mutant, Row, Scale } from "./row.ts";
import { type RowRunOutcome, runRowProcess } from "./row-process.ts";

/** One run of a row: as it is, or with one of its mutants. */
export type Task = { readonly row: Row; readonly mutant: Mutant | null; readonly scale: Scale };

export type DoneTask = { readonly task: Task; readonly outcome: RowRunOutcome };

/**
 * This many samples, with other seeds, may detect a mutant: a random walk is far shorter in one of them than
 * at full length, and ends at its first finding, which need not be the expected one.
 */
const SAMPLES_OF_A_MUTANT = 3;
/** A row that takes this many times its declared minutes, which are those of a run alone, has hung. */
const LIMIT_FACTOR = 8;
const SHORTEST_LIMIT_MINUTES = 6;

export function tasksOf(rows: readonly Row[], scale: Scale): Task[] {
  return rows.flatMap((row) => [
    { row, mutant: null, scale },
    ...row.mutants.map((mutant) => ({ row, mutant, scale: "sample" as const })),
  ]);
}

type Options = {
  readonly lanes: number;
  readonly seed: number;
  readonly say: (text: string) => void;
  readonly onDone: (done: DoneTask) => void;
  readonly stopped: AbortSignal;
};

/**
 * Runs them all: the long ones first, in as many parallel lanes as there are, and those that must run alone
 * last.
 */
export async function runTasks(tasks: readonly Task[], options: Options): Promise<DoneTask[]> {
  const done: DoneTask[] = [];
  const sorted = [...tasks].sort((one, other) => weight(other) - weight(one));
  const shared = sorted.filter((task) => !mustRunAlone(task));
  const lone = sorted.filter(mustRunAlone);
  const work = async (queue: Task[]) => {
    for (let task = queue.shift(); task !== undefined && !options.stopped.aborted; task = queue.shift()) {
      const ended = await runTask(task, options);
      options.onDone(ended);
      done.push(ended);
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, () => work(shared)));
  await work(lone);
  return done;
}

/** With a mutant a row need not reach its figures, only a violation. */
export const mustRunAlone = ({ row, mutant }: Task) =>
  mutant === null ? row.alone !== undefined : row.alone === "with its mutants";
const weight = ({ row, mutant }: Task) => (mutant === null ? row.minutes : 0);

async function runTask(task: Task, { seed, say, stopped }: Options): Promise<DoneTask> {
  const { row, mutant, scale } = task;
  const name = mutant === null ? row.id : `${row.id} without ${mutant.removes}`;
  say(`${name}: begins`);
  const sample = (number: number) =>
    runRowProcess({
      order: { row: row.id, seed: seed + number, scale },
      mutant,
      limitMinutes: Math.max(SHORTEST_LIMIT_MINUTES, row.minutes * LIMIT_FACTOR),
      progress: (text) => say(`${name}: ${text}`),
      stopped,
    });
  let outcome = await sample(0);
  for (let number = 1; mutant !== null && number < SAMPLES_OF_A_MUTANT; number += 1) {
    const why = whyNotCaught({ mutant, outcome });
    if (why === null || "error" in outcome) break;
    say(`${name}: ${why} (${Math.round(outcome.seconds)} s); once more with seed ${seed + number}`);
    outcome = await sample(number);
  }
  say(`${name}: ${verdict(task, outcome)} (${Math.round(outcome.seconds)} s)`);
  return { task, outcome };
}

function verdict({ mutant }: Task, outcome: RowRunOutcome): string {
  if (mutant !== null) {
    const why = whyNotCaught({ mutant, outcome });
    return why === null ? "caught" : `NOT CAUGHT: ${why}`;
  }
  if ("error" in outcome) return `BROKE DOWN: ${outcome.error}`;
  const { cases, violations } = outcome.result;
  return `${cases} cases, ${violations.length} violations${violations.length > 0 ? `: ${violations[0]}` : ""}`;
}
