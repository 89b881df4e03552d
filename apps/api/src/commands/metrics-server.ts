import { createServer, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { listening } from "./listening.ts";

/** A scraper that connects and sends nothing is disconnected. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 5_000 };

export type MetricsServer = {
  readonly host: string;
  /** Null: nothing is served. */
  readonly port: number | null;
  /** The setting of the port. */
  readonly variable: string;
  readonly registry: Registry;
  /**
   * Why the process does not do its work now; null when it does. With it, `/healthz` says that the process answers, and
   * `/readyz` whether it does its work.
   */
  readonly flaw?: () => Promise<string | null>;
};

/**
 * Serves `/metrics` on a port of its own, which is not for the public.
 *
 * @throws BadSettings when the port is in use
 */
export async function serveMetrics({
  host,
  port,
  variable,
  registry,
  flaw,
}: MetricsServer): Promise<Server | null> {
  if (port === null) return null;
  const server = createServer(timeouts, (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (pathname === "/metrics")
      registry.metrics().then(
        (text) => response.writeHead(200, { "Content-Type": registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    else if (pathname === "/healthz" && flaw !== undefined) answer(response, null);
    else if (pathname === "/readyz" && flaw !== undefined)
      flaw().then(
        (found) => answer(response, found),
        () => response.writeHead(500).end(),
      );
    else response.writeHead(404).end();
  });
  server.listen(port, host);
  await listening(server, { host, port }, variable);
  return server;
}

function answer(response: ServerResponse, flaw: string | null): void {
  const body = flaw === null ? { status: "ok" } : { status: "unavailable", detail: flaw };
  response
    .writeHead(flaw === null ? 200 : 503, { "Content-Type": "application/json" })
    .end(`${JSON.stringify(body)}\n`);
}
