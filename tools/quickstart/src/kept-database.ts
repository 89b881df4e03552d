import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type OpenedPostgres, openPostgres } from "@kule/postgres/open";
import type { Settings } from "./settings.ts";

export interface KeptDatabase {
  ownerUrl: string;
  stop(): Promise<void>;
}

/**
 * Opens the database and, when it is the embedded one and ends by itself, starts it again on the same port, so
 * that the processes that use it find it where it was.
 */
export async function keepDatabase(settings: Settings, log: (line: string) => void): Promise<KeptDatabase> {
  const options = { dataDir: join(settings.home, "postgres"), log };
  let current: OpenedPostgres = await openPostgres(settings.databaseUrl, options);
  const { ownerUrl } = current;
  let stopping = false;

  async function watch(): Promise<void> {
    for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 2, 10_000)) {
      const error = await current.unexpectedEnd;
      if (stopping) return;
      log(`${error.message} Starting it again.`);
      await delay(pauseMs);
      if (stopping) return;
      const again = await openPostgres(undefined, { ...options, port: Number(new URL(ownerUrl).port) }).catch(
        (cause: Error) => log(cause.message),
      );
      if (again !== undefined) current = again;
      if (stopping) await current.stop();
    }
  }
  void watch();

  return {
    ownerUrl,
    async stop() {
      stopping = true;
      await current.stop();
    },
  };
}
