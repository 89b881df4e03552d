const dayMs = 86_400_000;

/** Days before the end at which its owner is told. */
export const warningDays = [30, 14, 7, 1] as const;
export type WarningDay = (typeof warningDays)[number];

/** Whole days until the end, downwards; negative after it. */
export function daysLeft(notAfterMs: number, nowMs: number): number {
  return Math.floor((notAfterMs - nowMs) / dayMs);
}

/**
 * The warning that is due now, or null. Each is given once for a certificate, and only the most urgent one: after a time in
 * which nobody looked it is not said that 30 days are left when it is 3.
 *
 * @param given the smallest number of days that was told for this material; null: none was. New material begins anew.
 */
export function dueWarning(notAfterMs: number, nowMs: number, given: WarningDay | null): WarningDay | null {
  const leftMs = notAfterMs - nowMs;
  if (leftMs <= 0) return null;
  const due = warningDays.filter((days) => leftMs <= days * dayMs).at(-1);
  if (due === undefined || (given !== null && due >= given)) return null;
  return due;
}
