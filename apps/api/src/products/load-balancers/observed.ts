/** A machine as far as it decides what its load balancer is at. */
export type ObservedMachine = {
  readonly observed_generation: number;
  /** Its server's creation has failed, or it has none. */
  readonly isMissing: boolean;
};

/**
 * The generation that a load balancer is at, which is the last one that all its machines have. Before the first one it waits
 * for all machines that may still come; later one that is new, or missing, does not take it back: that the machine is
 * missing is said by its health.
 */
export function observedGeneration(
  machines: readonly ObservedMachine[],
  row: {
    readonly generation: number;
    readonly wanted_generation: number;
    readonly observed_generation: number;
  },
): number {
  const isFirst = row.observed_generation === 0;
  if (isFirst && machines.some((each) => each.observed_generation === 0 && !each.isMissing)) return 0;
  const having = machines.flatMap((each) => (each.observed_generation > 0 ? [each.observed_generation] : []));
  if (having.length === 0) return row.observed_generation;
  const least = Math.min(...having);
  // Changes since then concern no machine.
  const now = least >= row.wanted_generation ? row.generation : Math.min(least, row.generation);
  return Math.max(now, row.observed_generation);
}
