import { sql } from "kysely";
import { Gauge } from "prom-client";
import type { Database } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";

const states = ["free", "allocated", "used", "reserved", "quarantined"];

/** Adds what the IP pools have to the process' metrics; every replica reports the same values. */
export function registerIpPoolMetrics({ metrics: { registry }, db, log }: Deps): void {
  const read = scrapeReading(log, "the IP pools", () => readCounts(db));
  new Gauge({
    name: "kule_ip_pool_addresses",
    help: "Addresses of each IP pool by state",
    labelNames: ["region", "pool", "state"],
    registers: [registry],
    async collect() {
      const rows = await read();
      if (rows === null) return;
      this.reset();
      // A pool without a free address must show that it has none: what is not there fires no alert.
      for (const { region, name: pool } of rows)
        for (const state of states) this.set({ region, pool, state }, 0);
      for (const { region, name: pool, state, addresses } of rows) {
        if (state !== null) this.set({ region, pool, state }, addresses ?? 0);
      }
    },
  });
}

/** From the kept counts: a quarantine whose time is over still counts as one until the address is given out. */
function readCounts(db: Database) {
  return db
    .selectFrom("ip_pool")
    .leftJoin("public_address_count", "public_address_count.pool_id", "ip_pool.id")
    .select([
      "ip_pool.region",
      "ip_pool.name",
      sql<string | null>`case when state = 'free' and is_allocated then 'allocated' else state end`.as(
        "state",
      ),
      sql<number | null>`sum(amount)::integer`.as("addresses"),
    ])
    .groupBy(["ip_pool.region", "ip_pool.name", sql`3`])
    .execute();
}
