import { sql } from "kysely";
import { Gauge } from "prom-client";
import type { Deps } from "../../platform/deps.ts";

/** A scrape must not wait for an unreachable database. */
const readTimeoutMs = 1_000;

/** Adds to the process' metrics in which regions another key of an agent waits for an operator. */
export function registerRegionMetrics({ metrics: { registry }, db, log }: Deps): void {
  new Gauge({
    name: "kule_agent_key_pending",
    help: "1 while an agent of the region reports a key that no operator has approved",
    labelNames: ["region"],
    registers: [registry],
    async collect() {
      const late = Promise.withResolvers<null>();
      const timer = setTimeout(late.resolve, readTimeoutMs, null);
      const read = db
        .selectFrom("region")
        .select(["slug", sql<boolean>`pending_agent_key is not null`.as("is_pending")])
        .execute()
        .catch((error: unknown) => {
          log.debug({ err: error }, "the regions could not be read for a scrape");
          return null;
        });
      const rows = await Promise.race([read, late.promise]);
      clearTimeout(timer);
      if (rows === null) return;
      this.reset();
      for (const { slug, is_pending } of rows) this.set({ region: slug }, is_pending ? 1 : 0);
    },
  });
}
