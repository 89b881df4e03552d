import { sql } from "kysely";
import { Gauge } from "prom-client";
import { systemQuery } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { sightingsToReport } from "./drift-notes.ts";

/** A scrape must not wait for an unreachable database. */
const readTimeoutMs = 1_000;
const why = "operators see where regions differ from the records";

/**
 * Adds drift and the age of the last complete scan of each region to the process' metrics; every replica
 * reports the same values.
 */
export function registerInventoryMetrics({ metrics: { registry }, db, log }: Deps): void {
  async function inTime<Row>(read: Promise<Row[]>): Promise<Row[] | null> {
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(late.resolve, readTimeoutMs, null);
    const rows = read.catch((error: unknown) => {
      log.debug({ err: error }, "the inventory could not be read for a scrape");
      return null;
    });
    const first = await Promise.race([rows, late.promise]);
    clearTimeout(timer);
    return first;
  }

  new Gauge({
    name: "kule_drift",
    help: "Guests that are not as the records say, by region and kind",
    labelNames: ["region", "kind"],
    registers: [registry],
    async collect() {
      const rows = await inTime(
        systemQuery(db, why)
          .selectFrom("drift")
          .select(["region", "kind", sql<number>`count(*)::integer`.as("guests")])
          .where("sightings", ">=", sightingsToReport)
          .groupBy(["region", "kind"])
          .execute(),
      );
      if (rows === null) return;
      this.reset();
      for (const { region, kind, guests } of rows) this.set({ region, kind }, guests);
    },
  });
  new Gauge({
    name: "kule_inventory_age_seconds",
    help: "Age of the last complete scan of each region",
    labelNames: ["region"],
    registers: [registry],
    async collect() {
      const rows = await inTime(
        db
          .selectFrom("region_inventory")
          .select([
            "region",
            sql<number>`extract(epoch from clock_timestamp() - complete_began_at)::float8`.as("age"),
          ])
          .where("complete_began_at", "is not", null)
          .execute(),
      );
      if (rows === null) return;
      this.reset();
      for (const { region, age } of rows) this.set({ region }, age);
    },
  });
}
