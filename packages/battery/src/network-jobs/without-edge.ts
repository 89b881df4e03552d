import type { RowResult, RowRun } from "../row.ts";
import { EdgeStand } from "./edge-stand.ts";

/** The part of a row that jobs of networks are in, on a machine that can have an edge; the reason why not elsewhere. */
export async function atEdge(
  run: RowRun,
  work: (stand: EdgeStand) => Promise<RowResult>,
): Promise<RowResult> {
  const missing = await EdgeStand.missing();
  if (missing === undefined) return EdgeStand.use(work);
  run.progress(`no jobs of networks: ${missing}`);
  return { cases: 0, violations: [], figures: { "jobs of networks": `left out: ${missing}` } };
}

/** One row of two parts. Nobody looks for more where the first part is broken. */
export async function bothParts(
  first: () => Promise<RowResult>,
  second: () => Promise<RowResult>,
): Promise<RowResult> {
  const one = await first();
  if (one.violations.length > 0) return one;
  const other = await second();
  return {
    cases: one.cases + other.cases,
    violations: other.violations,
    recoverySeconds: [...(one.recoverySeconds ?? []), ...(other.recoverySeconds ?? [])],
    figures: { ...one.figures, ...other.figures },
  };
}
