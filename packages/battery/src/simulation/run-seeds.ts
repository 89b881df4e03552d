import { type Counts, noCounts, Simulation } from "./simulation.ts";

export type SeedRange = {
  readonly first: number;
  readonly count: number;
  /** It ends when so many seeds were bad: more of them are one defect seen again and again. */
  readonly mostBad: number;
  /** How many were, in all threads together. */
  readonly badCount: Int32Array<SharedArrayBuffer>;
};

export function newBadCount(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4));
}

/** A seed that broke something, with what it broke. */
export type BadSeed = { readonly seed: number; readonly violations: readonly string[] };

export type SeedsResult = {
  readonly seeds: number;
  readonly bad: readonly BadSeed[];
  readonly counts: Counts;
  /** Simulated, of every tenth seed. */
  readonly recoverySeconds: readonly number[];
  readonly repeated: number;
};

/** One in this many seeds runs twice: everything must happen again in the same way. */
const REPEAT_EVERY = 400;
const RECOVERY_EVERY = 10;

/** Runs one seed after the other. `progress` is called now and then with how many are done. */
export async function runSeeds(range: SeedRange, progress: (done: number) => void): Promise<SeedsResult> {
  const bad: BadSeed[] = [];
  const recoverySeconds: number[] = [];
  let counts = noCounts();
  let repeated = 0;
  let done = 0;
  for (; done < range.count && Atomics.load(range.badCount, 0) < range.mostBad; done++) {
    const seed = range.first + done;
    const result = await new Simulation(seed).run();
    const violations = [...result.violations];
    if (done % REPEAT_EVERY === 0) {
      repeated += 1;
      const again = await new Simulation(seed).run();
      if (again.hash !== result.hash) violations.push("it does not run the same way twice");
    }
    if (violations.length > 0) {
      bad.push({ seed, violations });
      Atomics.add(range.badCount, 0, 1);
    }
    if (done % RECOVERY_EVERY === 0) recoverySeconds.push(result.recoverySeconds);
    counts = added(counts, result.counts);
    if (done % 100 === 99) progress(done + 1);
  }
  return { seeds: done, bad, counts, recoverySeconds, repeated };
}

export function noSeeds(): SeedsResult {
  return { seeds: 0, bad: [], counts: noCounts(), recoverySeconds: [], repeated: 0 };
}

/** The findings of two parts of the work together, in the order of the seeds. */
export function merged(one: SeedsResult, other: SeedsResult): SeedsResult {
  return {
    seeds: one.seeds + other.seeds,
    bad: [...one.bad, ...other.bad].sort((a, b) => a.seed - b.seed),
    counts: added(one.counts, other.counts),
    recoverySeconds: [...one.recoverySeconds, ...other.recoverySeconds],
    repeated: one.repeated + other.repeated,
  };
}

function added(one: Counts, other: Counts): Counts {
  const sum = { ...one };
  for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += other[key];
  return sum;
}
