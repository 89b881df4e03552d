import { sql } from "kysely";
import { Gauge } from "prom-client";
import { systemQuery } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";
import { sightingsToReport } from "./drift-notes.ts";

const why = "operators see where regions differ from the records";

/**
 * Adds drift and the age of the last complete scan of each region to the process' metrics; every replica
 * reports the same values.
 */
export function registerInventoryMetrics({ metrics: { registry }, db, log }: Deps): void {
  const readDrift = scrapeReading(log, "the drift", () =>
    systemQuery(db, why)
      .selectFrom("drift")
      .select(["region", "kind", sql<number>`count(*)::integer`.as("guests")])
      .where("sightings", ">=", sightingsToReport)
      .groupBy(["region", "kind"])
      .execute(),
  );
  const readAges = scrapeReading(log, "the age of the inventory", () =>
    db
      .selectFrom("region_inventory")
      .select([
        "region",
        sql<number>`extract(epoch from clock_timestamp() - complete_began_at)::float8`.as("age"),
      ])
      .where("complete_began_at", "is not", null)
      .execute(),
  );
  new Gauge({
    name: "kule_drift_guests",
    help: "Guests that are not as the records say, by region and kind",
    labelNames: ["region", "kind"],
    registers: [registry],
    async collect() {
      const rows = await readDrift();
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
      const rows = await readAges();
      if (rows === null) return;
      this.reset();
      for (const { region, age } of rows) this.set({ region }, age);
    },
  });
}
