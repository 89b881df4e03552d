import type { RowResult, RowRun } from "../row.ts";
import { EdgeTestbed } from "./edge-testbed.ts";

/**
 * The part of a row with jobs of networks, on a machine that can have an edge; elsewhere the reason why not.
 * Each work has an edge of its own: what many networks leave there makes every observation slower.
 */
export async function atEdge(
  run: RowRun,
  ...works: readonly ((testbed: EdgeTestbed) => Promise<RowResult>)[]
): Promise<RowResult> {
  const missing = await EdgeTestbed.missing();
  if (missing === undefined) return onEdges(works);
  run.progress(`no jobs of networks: ${missing}`);
  return { cases: 0, violations: [], figures: { "jobs of networks": `left out: ${missing}` } };
}

async function onEdges(works: readonly ((testbed: EdgeTestbed) => Promise<RowResult>)[]): Promise<RowResult> {
  const figures: Record<string, number | string> = {};
  const recoverySeconds: number[] = [];
  let cases = 0;
  for (const work of works) {
    const result = await EdgeTestbed.use(work);
    cases += result.cases;
    recoverySeconds.push(...(result.recoverySeconds ?? []));
    if (result.violations.length > 0) return { ...result, cases };
    for (const [name, value] of Object.entries(result.figures ?? {})) {
      const before = figures[name];
      figures[name] = typeof value === "number" && typeof before === "number" ? before + value : value;
    }
  }
  return { cases, violations: [], recoverySeconds, figures };
}

/** One row of several parts. After a violation in one of them the next ones are skipped. */
export async function inTurn(...parts: readonly (() => Promise<RowResult>)[]): Promise<RowResult> {
  const recoverySeconds: number[] = [];
  const figures: Record<string, number | string> = {};
  let cases = 0;
  for (const part of parts) {
    const result = await part();
    cases += result.cases;
    recoverySeconds.push(...(result.recoverySeconds ?? []));
    Object.assign(figures, result.figures);
    if (result.violations.length > 0) return { ...result, cases, recoverySeconds, figures };
  }
  return { cases, violations: [], recoverySeconds, figures };
}
