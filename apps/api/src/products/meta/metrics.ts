import { Gauge } from "prom-client";
import type { Deps } from "../../platform/deps.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";
import { countLiveWorkers } from "../../worker/presence.ts";

/** Adds how many workers there are to the process' metrics; every replica reports the same value. */
export function registerWorkerPresence({ metrics: { registry }, db, log }: Deps): void {
  const read = scrapeReading(log, "the workers", () => countLiveWorkers(db));
  new Gauge({
    name: "kule_workers",
    help: "Workers whose heartbeat is in the database",
    registers: [registry],
    async collect() {
      const live = await read();
      if (live !== null) this.set(live);
    },
  });
}
