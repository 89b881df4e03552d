import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openPostgres } from "@kule/postgres/open";
import { RestartPause } from "./restart-pause.ts";
import type { Settings } from "./settings.ts";

export interface KeptDatabase {
  ownerUrl: string;
  stop(): Promise<void>;
}

/**
 * Opens the database and, when it is the embedded one and ends by itself, restarts it on the same port, so
 * that the processes that use it find it where it was. It is retried forever: the cause, such as a full disk,
 * may be temporary.
 */
export async function keepDatabase(settings: Settings, log: (line: string) => void): Promise<KeptDatabase> {
  const options = { dataDir: join(settings.home, "postgres"), log };
  const pause = new RestartPause();
  pause.begin();
  let current = await openPostgres(settings.databaseUrl, options);
  const { ownerUrl } = current;
  const stopping = new AbortController();
  const stopSignal = new Promise<null>((settle) => {
    stopping.signal.addEventListener("abort", () => settle(null), { once: true });
  });

  /** One that runs again, or null when there is no need any more. */
  async function openAgain(why: string): Promise<typeof current | null> {
    for (let reason = why; !stopping.signal.aborted; ) {
      const pauseMs = pause.afterEnd();
      log(`${reason} Starting it again in ${pauseMs / 1000} s.`);
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) break;
      pause.begin();
      try {
        return await openPostgres(undefined, { ...options, port: Number(new URL(ownerUrl).port) });
      } catch (error) {
        reason = (error as Error).message;
      }
    }
    return null;
  }

  async function watch(): Promise<void> {
    for (;;) {
      const end = await Promise.race([current.unexpectedEnd, stopSignal]);
      if (end === null) return current.stop();
      const again = await openAgain(end.message);
      if (again === null) return;
      current = again;
    }
  }
  const watching = watch();

  return {
    ownerUrl,
    stop() {
      stopping.abort();
      return watching;
    },
  };
}
