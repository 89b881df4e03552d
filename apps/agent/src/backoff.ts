const FIRST_MILLISECONDS = 1_000;

/**
 * How long to wait after the nth failure in a row (from 0), in milliseconds: at least a second, growing up to
 * the longest, and random in between so that the agents of many regions do not retry at the same moment.
 */
export function backoffMilliseconds(failures: number, longestMilliseconds: number, random: number): number {
  const ceiling = Math.min(longestMilliseconds, FIRST_MILLISECONDS * 2 ** Math.min(failures + 1, 20));
  const floor = Math.min(FIRST_MILLISECONDS, ceiling);
  return floor + random * (ceiling - floor);
}
