import type { Server } from "node:http";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { createConsole } from "./app.tsx";
import { loadAssets } from "./assets.ts";
import { createLog } from "./log.ts";
import { createConsoleMetrics, serveMetrics } from "./metrics.ts";
import { createJobStreams } from "./products/jobs/streams.ts";
import { createSealer } from "./sealed-value.ts";
import { createCookies } from "./session.ts";
import { readSettings, SettingsError } from "./settings.ts";
import { createStop } from "./stop.ts";

/**
 * Slow clients are disconnected: the first timeout is for the headers. The last one is longer than proxies keep a connection
 * without a request, which a request of theirs would otherwise find closed.
 */
const serverTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 75_000,
};

const log = createLog((line) => process.stdout.write(line));

try {
  start();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function start(): void {
  const settings = readSettings(process.env);
  const metrics = createConsoleMetrics();
  const stop = createStop(settings.stopDelaySeconds * 1000);
  const app = createConsole(
    {
      settings,
      cookies: createCookies(createSealer(settings.secrets), settings.secureCookies),
      assets: loadAssets(join(import.meta.dirname, "assets")),
      jobStreams: createJobStreams(),
      metrics,
      stop,
    },
    log,
  );
  const server = serve(
    { fetch: app.fetch, hostname: settings.host, port: settings.port, serverOptions: serverTimeouts },
    (address) => {
      log("listening", { host: settings.host, port: address.port });
    },
  );
  stop.watch(server as Server);
  server.on("error", (error) => cannotListen(error, settings.port, "KULE_CONSOLE_PORT"));
  const { metricsPort } = settings;
  const scraped = metricsPort === null ? null : serveMetrics(metrics);
  if (metricsPort !== null) {
    scraped?.on("error", (error) => cannotListen(error, metricsPort, "KULE_CONSOLE_METRICS_PORT"));
    scraped?.listen(metricsPort, settings.metricsHost);
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => {
      log("stopping", { signal, delay_seconds: settings.stopDelaySeconds });
      void stop.end(server as Server).then(() => {
        scraped?.close();
        scraped?.closeAllConnections();
        process.exit(0);
      });
    });
}

function cannotListen(error: NodeJS.ErrnoException, port: number, variable: string): never {
  const busy = error.code === "EADDRINUSE" ? ` port ${port} is in use (${variable})` : "";
  process.stderr.write(`the console cannot listen:${busy || ` ${error.message}`}\n`);
  process.exit(1);
}
