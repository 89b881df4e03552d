import type { Logger } from "./log.ts";

/** A scrape must not wait for an unreachable database: the other metrics are needed most just then. */
const readTimeoutMs = 1_000;

/**
 * A reading of the database for a scrape. All gauges of a scrape are collected at once, and those that call the returned
 * function share one reading. It resolves to null when nothing could be read in time; the gauges then keep what they had.
 *
 * @param what is read, for the log
 */
export function scrapeReading<Read>(
  log: Pick<Logger, "debug">,
  what: string,
  read: () => Promise<Read>,
): () => Promise<Read | null> {
  let reading: Promise<Read | null> | null = null;
  async function readInTime(): Promise<Read | null> {
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(late.resolve, readTimeoutMs, null);
    const found = read().catch((error: unknown) => {
      log.debug({ err: error }, `${what} could not be read for a scrape`);
      return null;
    });
    const first = await Promise.race([found, late.promise]);
    clearTimeout(timer);
    return first;
  }
  return () => {
    reading ??= readInTime().finally(() => {
      reading = null;
    });
    return reading;
  };
}
