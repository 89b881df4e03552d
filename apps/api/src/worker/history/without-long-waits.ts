import { setTimeout as delay } from "node:timers/promises";

const tries = 10;
const pauseMs = 500;
/** lock_not_available, deadlock_detected. */
const held = new Set(["55P03", "40P01"]);

/**
 * Runs what needs a whole table for a moment. Postgres lets nobody pass who waits behind such a lock, so its statements wait
 * shortly (lock_timeout), and it is tried again after a pause in which everybody else works.
 */
export async function withoutLongWaits<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === tries || !held.has(String((error as { code?: unknown }).code))) throw error;
      await delay(pauseMs);
    }
  }
}
