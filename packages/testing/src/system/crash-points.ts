import { existsSync, readFileSync } from "node:fs";

/** One place at which an agent is killed: a crash point's name and which time it is reached. */
export type CrashCase = { readonly name: string; readonly time: number };

/**
 * The crash points that a healthy run of these kinds passes, from the trace of an agent: the test learns them from
 * the program itself, so a new step is covered the day it is written.
 */
export function tracedCases(traceFile: string, kind: string): CrashCase[] {
  if (!existsSync(traceFile)) return [];
  const times = new Map<string, number>();
  const cases: CrashCase[] = [];
  for (const name of readFileSync(traceFile, "utf8").split("\n")) {
    if (!name.startsWith(`${kind}.`)) continue;
    const time = (times.get(name) ?? 0) + 1;
    times.set(name, time);
    cases.push({ name, time });
  }
  return cases;
}

/** Splits into groups of at most `size`. */
export function batches<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
