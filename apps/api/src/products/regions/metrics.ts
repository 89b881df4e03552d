import { sql } from "kysely";
import { Gauge } from "prom-client";
import type { Database } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";

type Seen = Awaited<ReturnType<typeof readRegions>>[number];

/** Adds what the regions' agents last reported to the process' metrics; every replica reports the same values. */
export function registerRegionMetrics({ metrics: { registry }, db, log }: Deps): void {
  const read = scrapeReading(log, "the regions", () => readRegions(db));
  /** One gauge, of which each region sets what it has. */
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    values: (region: Seen) => readonly (readonly [Readonly<Record<Label, string>> | null, number])[],
  ) =>
    new Gauge<string>({
      name,
      help,
      labelNames: ["region", ...labels],
      registers: [registry],
      async collect() {
        const rows = await read();
        if (rows === null) return;
        this.reset();
        for (const row of rows)
          for (const [more, value] of values(row)) this.set({ region: row.slug, ...more }, value);
      },
    });
  const flag = (is: boolean) => [[null, is ? 1 : 0]] as const;
  const reported = (region: Seen, value: number | boolean | null) =>
    region.reported_at === null || value === null ? [] : ([[null, Number(value)]] as const);

  gauge(
    "kule_agent_info",
    "1 for the version that each region's agent last reported",
    ["mode", "version"],
    ({ mode, agent_version: version }) => (version === null ? [] : [[{ mode, version }, 1]]),
  );
  gauge(
    "kule_agent_report_timestamp_seconds",
    "When each region's agent last reported its health; 0: never",
    [],
    ({ reported_at: at }) => [[null, at ?? 0]],
  );
  gauge(
    "kule_agent_key_pending",
    "1 while an agent of the region reports a key that no operator has approved",
    [],
    ({ is_pending: isPending }) => flag(isPending),
  );
  gauge("kule_region_maintenance", "1 while no job of the region is given to its agent", [], (region) =>
    flag(region.maintenance),
  );
  gauge(
    "kule_region_ready",
    "1 when the agent last reported its hypervisor reachable and every template there",
    [],
    (region) => reported(region, region.health_ok),
  );
  gauge(
    "kule_region_hypervisor_reachable",
    "1 when the agent last reported its hypervisor reachable",
    [],
    (region) => reported(region, region.hypervisor_reachable),
  );
  gauge("kule_region_templates_missing", "Templates that the agent last reported unusable", [], (region) =>
    reported(region, region.templates_missing),
  );
  gauge("kule_region_nodes", "Nodes of the region's cluster by state", ["state"], (region) =>
    region.nodes === null
      ? []
      : [
          [{ state: "online" }, region.nodes_online],
          [{ state: "offline" }, region.nodes - region.nodes_online],
        ],
  );
  gauge(
    "kule_region_edge_reachable",
    "1 when the agent last reached the region's edge; only of regions with one",
    [],
    ({ has_edge: hasEdge, edge_reachable: isReachable }) => (hasEdge ? flag(isReachable === true) : []),
  );
  gauge(
    "kule_region_restore_open",
    "1 for the state of a region whose restore of the database no operator has ended",
    ["state"],
    ({ restore_state: state }) =>
      (["waiting", "scanned"] as const).map((each) => [{ state: each }, state === each ? 1 : 0]),
  );
}

function readRegions(db: Database) {
  return db
    .selectFrom("region")
    .select([
      "slug",
      "mode",
      "maintenance",
      "health_ok",
      "has_edge",
      // The contract limits its length; an agent may send any text.
      "agent_version",
      sql<number | null>`extract(epoch from health_at)::float8`.as("reported_at"),
      sql<boolean>`pending_agent_key is not null`.as("is_pending"),
      sql<boolean | null>`(health #>> '{hypervisor,reachable}')::boolean`.as("hypervisor_reachable"),
      sql<number | null>`jsonb_array_length(health #> '{hypervisor,nodes}')`.as("nodes"),
      sql<number>`(select count(*)::integer
                     from jsonb_array_elements(coalesce(health #> '{hypervisor,nodes}', '[]'::jsonb)) as node (seen)
                    where (seen ->> 'online')::boolean)`.as("nodes_online"),
      sql<number>`(select count(*)::integer
                     from jsonb_array_elements(coalesce(health -> 'templates', '[]'::jsonb)) as template (seen)
                    where not (seen ->> 'ok')::boolean)`.as("templates_missing"),
      sql<boolean | null>`(edge ->> 'reachable')::boolean`.as("edge_reachable"),
      sql<
        "waiting" | "scanned" | null
      >`case when restored_at is null or restore_ended_at is not null then null
        when restore_scanned_at is null then 'waiting' else 'scanned' end`.as("restore_state"),
    ])
    .execute();
}
