import type { Mutant, Row, RowResult } from "./row.ts";
import type { RowRunOutcome } from "./row-process.ts";

export type MutantRun = { readonly mutant: Mutant; readonly outcome: RowRunOutcome };

/** Null when the mutant was caught for what it is; otherwise what went wrong instead. */
export function whyNotCaught({ mutant, outcome }: MutantRun): string | null {
  if ("error" in outcome) return `the row broke down instead of finding it: ${outcome.error}`;
  const { violations } = outcome.result;
  if (violations.length === 0) return "nothing was found";
  if (!violations.some((violation) => mutant.expects.test(violation)))
    return `found something else (${mutant.expects} was expected): ${violations[0]}`;
  return null;
}

/** Every reason why a row does not count as passed. */
export function failuresOf(
  row: Pick<Row, "id" | "mutants">,
  outcome: RowRunOutcome | undefined,
  mutants: readonly MutantRun[],
): string[] {
  const failures: string[] = [];
  if (row.mutants.length === 0) failures.push("it has no mutant");
  if (outcome === undefined) failures.push("it did not run");
  else if ("error" in outcome) failures.push(`it broke down: ${outcome.error}`);
  else {
    if (outcome.result.cases === 0) failures.push("it ran no case");
    failures.push(...outcome.result.violations);
  }
  for (const mutant of row.mutants) {
    const run = mutants.find((each) => each.mutant.name === mutant.name);
    const why = run === undefined ? "it did not run" : whyNotCaught(run);
    if (why !== null) failures.push(`mutant ${mutant.name} (without ${mutant.removes}): ${why}`);
  }
  return failures;
}

/** The value below which `share` of the numbers are; null of none. */
export function percentile(numbers: readonly number[], share: number): number | null {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

export function p95Recovery(result: RowResult): number | null {
  return percentile(result.recoverySeconds ?? [], 0.95);
}
