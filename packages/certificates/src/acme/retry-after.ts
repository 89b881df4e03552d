/**
 * When a CA asks to come again: seconds or a date (RFC 9110, 10.2.3), kept between the limits.
 *
 * @returns null for no header, or one that is neither
 */
export function retryAfter(
  header: string | undefined,
  now: Date,
  limits: { readonly minSeconds: number; readonly maxSeconds: number },
): Date | null {
  if (header === undefined || header.length > 100) return null;
  const text = header.trim();
  const seconds = /^\d{1,15}$/.test(text) ? Number(text) : (new Date(text).getTime() - now.getTime()) / 1_000;
  if (Number.isNaN(seconds)) return null;
  const bounded = Math.min(Math.max(seconds, limits.minSeconds), limits.maxSeconds);
  return new Date(now.getTime() + Math.ceil(bounded) * 1_000);
}

/** For refusals and outages: a wrong header must neither make a loop nor stop renewals for a year. */
export const REFUSAL_LIMITS = { minSeconds: 1, maxSeconds: 7 * 86_400 };
/** Between two looks at an order or an authorisation. */
export const LOOK_LIMITS = { minSeconds: 1, maxSeconds: 3_600 };
const DEFAULT_LOOK_SECONDS = 3;

/** When to look again at what the CA is working on. */
export function nextLook(header: string | undefined, now: Date): Date {
  return retryAfter(header, now, LOOK_LIMITS) ?? new Date(now.getTime() + DEFAULT_LOOK_SECONDS * 1_000);
}
