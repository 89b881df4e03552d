/** A job is tried this often before it fails. */
export const defaultMaxAttempts = 8;

const firstBackoffSeconds = 5;
const longestBackoffSeconds = 300;

/**
 * How long a job waits after its n-th attempt met transient trouble: 5 s, doubling, at most 5 minutes.
 *
 * @param jitter from 0 to 1; spreads jobs that failed together over a fifth of the wait
 */
export function backoffSeconds(attempt: number, jitter: number): number {
  const base = Math.min(longestBackoffSeconds, firstBackoffSeconds * 2 ** Math.max(0, attempt - 1));
  return Math.round(base * (0.9 + 0.2 * jitter) * 1000) / 1000;
}

/** What a job waits for as long as it takes: nobody can do more than wait, and nothing is half done. */
const waitedFor: ReadonlySet<string> = new Set(["dns_unavailable"]);

/**
 * Whether an attempt that met transient trouble is one of those that the job has. The last one is kept for other trouble,
 * so that the pauses stay long.
 */
export function countsAsAttempt(code: string | null, attempt: number, maxAttempts: number): boolean {
  return code === null || !waitedFor.has(code) || attempt < maxAttempts - 1;
}

/** True if a job that used so many attempts may be tried again by itself. */
export function hasAttemptsLeft(attempt: number, maxAttempts: number): boolean {
  return attempt < maxAttempts;
}
