import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { createJobMetrics, type JobMetrics } from "./job-metrics.ts";

export type Metrics = {
  readonly registry: Registry;
  /** A request has arrived. Call the returned function when it is answered. */
  beginRequest(operation: string): (status: number) => void;
  /** Adds the requests to what is scraped: the worker, which answers none, leaves them out. */
  showRequests(): void;
  readonly jobs: JobMetrics;
};

/** Gauges of prom-client whose names end like counters' names, which promtool refuses. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** What every process of Node tells about itself: memory, processor time, event loop. */
function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
}

/** The process' metrics; no caller determines their labels, so their number is bounded. */
export function createMetrics(poolUse: () => { total: number; idle: number; waiting: number }): Metrics {
  const registry = new Registry();
  collectProcessMetrics(registry);
  new Gauge({
    name: "kule_database_connections",
    help: "Connections of the process' pool, and requests waiting for one",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const { total, idle, waiting } = poolUse();
      this.set({ state: "used" }, total - idle);
      this.set({ state: "idle" }, idle);
      this.set({ state: "waiting" }, waiting);
    },
  });
  const requests = new Counter({
    name: "kule_api_requests_total",
    help: "Requests by operation and status",
    labelNames: ["operation", "status"],
    registers: [],
  });
  const duration = new Histogram({
    name: "kule_api_request_duration_seconds",
    help: "Time to the answer, parked requests included",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [],
  });
  const open = new Gauge({
    name: "kule_api_requests_open",
    help: "Requests that are not answered yet, parked ones included",
    registers: [],
  });
  return {
    registry,
    beginRequest(operation) {
      const startedAt = performance.now();
      open.inc();
      return (status) => {
        open.dec();
        requests.inc({ operation, status });
        duration.observe({ operation }, (performance.now() - startedAt) / 1000);
      };
    },
    showRequests() {
      for (const metric of [requests, duration, open]) registry.registerMetric(metric);
    },
    jobs: createJobMetrics(registry),
  };
}
