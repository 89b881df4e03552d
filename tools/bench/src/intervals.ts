/** In milliseconds since the epoch. */
export type Interval = { readonly beginMs: number; readonly endMs: number };

/** How much of `whole` is covered by the intervals; overlapping parts count once. */
export function coveredMs(intervals: readonly Interval[], whole: Interval): number {
  let covered = 0;
  let reachedMs = whole.beginMs;
  for (const { beginMs, endMs } of intervals.toSorted((one, other) => one.beginMs - other.beginMs)) {
    const fromMs = Math.max(beginMs, reachedMs);
    const toMs = Math.min(endMs, whole.endMs);
    if (toMs <= fromMs) continue;
    covered += toMs - fromMs;
    reachedMs = toMs;
  }
  return covered;
}
