import { createServer, type Server } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** What the panel tells about itself. No visitor determines a label, so their number is bounded. */
export type ConsoleMetrics = {
  readonly registry: Registry;
  /** A request has arrived. Call the returned function when its answer begins. */
  beginRequest(method: string): (status: number) => void;
  /** The API was asked; null when nothing answered. */
  apiAnswered(status: number | null, seconds: number): void;
};

/** Gauges of prom-client whose names end like counters' names, which promtool refuses. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** The methods of the panel's own pages and forms. */
const methods = new Set(["GET", "HEAD", "POST"]);

export function createConsoleMetrics(): ConsoleMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  const registers = [registry];
  const requests = new Counter({
    name: "kule_console_requests_total",
    help: "Requests of browsers by method and status",
    labelNames: ["method", "status"],
    registers,
  });
  const duration = new Histogram({
    name: "kule_console_request_duration_seconds",
    help: "Time until the answer to a browser begins",
    labelNames: ["method"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const open = new Gauge({
    name: "kule_console_requests_open",
    help: "Requests of browsers whose answer has not begun yet",
    registers,
  });
  const calls = new Counter({
    name: "kule_console_api_requests_total",
    help: "Calls of the API by the status of the answer; none: nothing answered",
    labelNames: ["status"],
    registers,
  });
  const callDuration = new Histogram({
    name: "kule_console_api_request_duration_seconds",
    help: "Time until the API's answer begins",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  return {
    registry,
    beginRequest(given) {
      const method = methods.has(given) ? given : "other";
      const startedAt = performance.now();
      open.inc();
      return (status) => {
        open.dec();
        requests.inc({ method, status });
        duration.observe({ method }, (performance.now() - startedAt) / 1000);
      };
    },
    apiAnswered(status, seconds) {
      calls.inc({ status: status ?? "none" });
      callDuration.observe(seconds);
    },
  };
}

/** `fetch` that counts its calls. */
export function countedFetch(metrics: Pick<ConsoleMetrics, "apiAnswered">): typeof fetch {
  return async (input, init) => {
    const startedAt = performance.now();
    const answered = (status: number | null) =>
      metrics.apiAnswered(status, (performance.now() - startedAt) / 1000);
    try {
      const response = await fetch(input, init);
      answered(response.status);
      return response;
    } catch (error) {
      answered(null);
      throw error;
    }
  };
}

/** Serves `/metrics` on a port of its own, which is not for the public. */
export function serveMetrics({ registry }: Pick<ConsoleMetrics, "registry">): Server {
  return createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 5_000 },
    (request, response) => {
      if (request.url?.split("?")[0] !== "/metrics") {
        response.writeHead(404).end();
        return;
      }
      registry.metrics().then(
        (text) => response.writeHead(200, { "Content-Type": registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    },
  );
}
