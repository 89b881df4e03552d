export type Lifetime = { readonly notBeforeMs: number; readonly notAfterMs: number };
/** What the CA suggests (RFC 9773). */
export type RenewalWindow = { readonly startMs: number; readonly endMs: number };

/**
 * When a certificate is to be renewed, in ms since 1970: when a third of its lifetime is left, or at the point of the CA's
 * window that `share` says. The window wins also when it is earlier or over: with it the CA says that it revokes.
 *
 * @param share 0 to 1, random and kept: all clients of a CA are not to come at once. 0 without a window is the same time
 */
export function renewalTime(
  { notBeforeMs, notAfterMs }: Lifetime,
  window: RenewalWindow | null,
  share: number,
): number {
  const third = notAfterMs - Math.floor((notAfterMs - notBeforeMs) / 3);
  if (window === null || !isUsable(window)) return third;
  const chosen =
    window.startMs + Math.floor((window.endMs - window.startMs) * Math.min(1, Math.max(0, share)));
  // A CA that would have us wait past the end is not followed.
  return Math.min(chosen, Math.max(third, notAfterMs - lastDayMs));
}

const lastDayMs = 86_400_000;

const isUsable = ({ startMs, endMs }: RenewalWindow) =>
  Number.isFinite(startMs) && Number.isFinite(endMs) && endMs > startMs;

export const isRenewalDue = (
  lifetime: Lifetime,
  window: RenewalWindow | null,
  share: number,
  nowMs: number,
): boolean => nowMs >= renewalTime(lifetime, window, share);

export const firstRetryMs = 60_000;
export const lastRetryMs = 12 * 3_600_000;

/**
 * How long to wait after a failed attempt, in ms: a minute, then twice as long each time, at most 12 hours. The CA's
 * Retry-After is kept where it is longer, up to a week: further off its clock or ours is wrong.
 *
 * @param attempts that have failed in a row, from 1
 * @param retryAfterMs what the CA has said; null: nothing
 */
export function retryDelayMs(attempts: number, retryAfterMs: number | null): number {
  const own = Math.min(lastRetryMs, firstRetryMs * 2 ** Math.max(0, Math.min(attempts, 32) - 1));
  if (retryAfterMs === null || !Number.isFinite(retryAfterMs)) return own;
  return Math.max(own, Math.min(retryAfterMs, mostRetryAfterMs));
}

const mostRetryAfterMs = 7 * 86_400_000;
