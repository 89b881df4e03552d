import type { Deps } from "../platform/deps.ts";
import { registerAgentUpdateMetrics } from "../products/agent-updates/index.ts";
import { registerInvariantMetrics } from "../products/invariants/index.ts";
import { registerInventoryMetrics } from "../products/inventory/index.ts";
import { registerIpPoolMetrics } from "../products/ip-pools/index.ts";
import { registerJobMetrics } from "../products/jobs/index.ts";
import { registerWorkerPresence } from "../products/meta/index.ts";
import { registerRegionMetrics } from "../products/regions/index.ts";

/** Everything that `serve` shows: its requests, and what any replica reads from the database at a scrape. */
export function registerApiMetrics(deps: Deps): void {
  deps.metrics.showRequests();
  registerAgentUpdateMetrics(deps);
  registerInvariantMetrics(deps);
  registerInventoryMetrics(deps);
  registerIpPoolMetrics(deps);
  registerJobMetrics(deps);
  registerRegionMetrics(deps);
  registerWorkerPresence(deps);
}
