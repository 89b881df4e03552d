export const jobPhases = ["observe", "plan", "apply", "verify"] as const;
export type JobPhase = (typeof jobPhases)[number];

/** The least progress of a job in that phase. */
const floorOf: { readonly [phase in JobPhase]: number } = { observe: 5, plan: 15, apply: 20, verify: 90 };

/**
 * The progress that is shown, from 0 to 99: what was reported, never less than before, never 100 before the
 * end.
 *
 * @param phase that the report is about; null when it only keeps the lease
 * @param reported the agent's figure, or null when the report has none
 */
export function nextProgress(previous: number, phase: JobPhase | null, reported: number | null): number {
  const floor = phase === null ? 0 : floorOf[phase];
  return Math.min(99, Math.max(previous, reported ?? floor, 0));
}
