import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = {
  readonly registry: Registry;
  /** A request has arrived. Call the returned function when it is answered. */
  beginRequest(operation: string): (status: number) => void;
};

/** The process' metrics; no caller determines their labels, so their number is bounded. */
export function createMetrics(poolUse: () => { total: number; idle: number; waiting: number }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: "kule_api_requests_total",
    help: "Requests by operation and status",
    labelNames: ["operation", "status"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "kule_api_request_seconds",
    help: "Time to the answer, parked requests included",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  new Gauge({
    name: "kule_api_database_connections",
    help: "Connections of the pool, and requests waiting for one",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const { total, idle, waiting } = poolUse();
      this.set({ state: "used" }, total - idle);
      this.set({ state: "idle" }, idle);
      this.set({ state: "waiting" }, waiting);
    },
  });
  const open = new Gauge({
    name: "kule_api_requests_open",
    help: "Requests that are not answered yet, parked ones included",
    registers: [registry],
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
  };
}
