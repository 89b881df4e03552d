import { compareVersions, isVersion } from "@kule/agent-release/version";
import { Gauge } from "prom-client";
import type { Database } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";
import { findOpenRollout } from "./rollout-store.ts";

const statuses = ["running", "paused", "stopped"];

/** Adds the rollouts of agent releases to the process' metrics; every replica reports the same values. */
export function registerAgentUpdateMetrics({ metrics: { registry }, db, log }: Deps): void {
  const read = scrapeReading(log, "the rollouts of agents", () => readRollouts(db));
  new Gauge({
    name: "kule_agent_rollout_open",
    help: "1 for the status of the open rollout of an agent release; all are 0 without one",
    labelNames: ["status"],
    registers: [registry],
    async collect() {
      const found = await read();
      if (found === null) return;
      for (const status of statuses) this.set({ status }, found.open?.status === status ? 1 : 0);
    },
  });
  new Gauge({
    name: "kule_agent_rollout_regions",
    help: "Regions of the open rollout by state; none without one",
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      const found = await read();
      if (found === null) return;
      this.reset();
      for (const [state, regions] of Object.entries(found.open?.regions_count ?? {}))
        this.set({ state }, regions);
    },
  });
  new Gauge({
    name: "kule_agent_outdated",
    help: "1 when the region's agent last reported an older version than that of the last rollout that is done",
    labelNames: ["region"],
    registers: [registry],
    async collect() {
      const found = await read();
      if (found === null) return;
      this.reset();
      for (const { region, isOutdated } of found.regions) this.set({ region }, isOutdated ? 1 : 0);
    },
  });
}

async function readRollouts(db: Database) {
  const [open, done, regions] = await Promise.all([
    findOpenRollout(db),
    db
      .selectFrom("agent_rollout")
      .select("version")
      .where("status", "=", "done")
      .orderBy("created_at", "desc")
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirst(),
    db
      .selectFrom("region")
      .select(["slug", "agent_version"])
      .where("mode", "=", "agent")
      .where("agent_version", "is not", null)
      .execute(),
  ]);
  return {
    open,
    regions: regions.map(({ slug, agent_version: version }) => ({
      region: slug,
      isOutdated:
        done !== undefined &&
        version !== null &&
        isVersion(version) &&
        compareVersions(version, done.version) < 0,
    })),
  };
}
