import type { Server, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type ServerType, serve } from "@hono/node-server";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { apiRoot, createApp } from "../app.ts";
import type { Logger } from "../platform/log.ts";
import { openDeps } from "../platform/open-deps.ts";
import type { Settings } from "../platform/settings.ts";
import { addressOf, announceReplica, serveConsoles } from "../products/consoles/index.ts";
import { registerApiMetrics } from "./api-metrics.ts";
import { listening } from "./listening.ts";
import { serveMetrics } from "./metrics-server.ts";
import { isWeakRole, onceStrongRole } from "./refuse-strong-role.ts";
import { untilStopSignal } from "./stop-signal.ts";

/**
 * How long running requests may take to end, in milliseconds. Without a delay of the stop (KULE_STOP_DELAY_SECONDS) the whole stop
 * stays under 10 s.
 */
const drainMs = 7_000;

/**
 * A client that connects and then sends nothing, or a byte now and then, is disconnected: a connection costs
 * a file descriptor and memory. The first limit is for the headers, the second for the whole request, of
 * which the largest body needs 280 kbit/s.
 */
const slowClients = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 };

/**
 * Longer than proxies keep a connection without a request, mostly 60 s: a request that they send at the moment in which the
 * other end closes it is lost, and only some are repeated.
 */
const serverTimeouts = { ...slowClients, keepAliveTimeout: 75_000 };

/**
 * Answers requests until SIGTERM or SIGINT. Then it says that it is not ready, and answers what comes for as long as proxies need to
 * notice; after that it accepts nothing new, lets the running requests end, and closes.
 *
 * @throws BadSettings when the port is in use, or the database's role has too many rights
 */
export async function serveCommand(settings: Settings, log: Logger, crash: CrashHook): Promise<void> {
  const stop = untilStopSignal();
  const open = await openDeps(settings, log, crash);
  try {
    if (!(await isWeakRole(open.deps.db)))
      onceStrongRole(open.deps.db, open.deps.stopping, (error) => {
        log.fatal(error.message);
        process.exitCode = 1;
        process.kill(process.pid, "SIGTERM");
      });
    const app = createApp(open.deps);
    const server = serve({
      fetch: app.fetch,
      hostname: settings.host,
      port: settings.port,
      serverOptions: serverTimeouts,
    });
    await listening(server, settings, "KULE_API_PORT");
    // Files are compared with their manifests before the first agent asks for one.
    void open.deps.releases.read();
    registerApiMetrics(open.deps);
    const address = settings.replicaUrl ?? addressOf(settings.host, portOf(server) ?? settings.port);
    const announced = await announceReplica(open.deps, address);
    const consoles = serveConsoles(server as Server, open.deps, announced.replica, apiRoot);
    const lastAnswers = markLastAnswers(server as Server);
    const metrics = await serveMetrics({
      host: settings.metricsHost,
      port: settings.metricsPort,
      variable: "KULE_API_METRICS_PORT",
      registry: open.deps.metrics.registry,
    });
    log.info({ host: settings.host, port: portOf(server), url: settings.publicUrl }, "serving");

    log.info({ signal: await stop, delay_seconds: settings.stopDelaySeconds }, "stopping");
    lastAnswers.begin();
    open.leave();
    await delay(settings.stopDelaySeconds * 1000);
    open.stop();
    await consoles.stop();
    await announced.stop();
    await drained(server);
    metrics?.close();
  } finally {
    await open.close();
  }
  log.info("stopped");
}

/**
 * Once the stop has begun, every answer says that it is the last one on its connection. A client that keeps
 * its connections busy would otherwise continue to send until the drain is over, and be disconnected in the
 * middle of a request.
 */
function markLastAnswers(server: Server): { begin(): void } {
  const open = new Set<ServerResponse>();
  let hasBegun = false;
  const mark = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("Connection", "close");
  };
  // Before the handler that answers.
  server.prependListener("request", (_request, response) => {
    if (hasBegun) return mark(response);
    open.add(response);
    response.once("close", () => open.delete(response));
  });
  return {
    begin() {
      hasBegun = true;
      for (const response of open) mark(response);
      open.clear();
    },
  };
}

function drained(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    const closable = server as Server;
    const deadline = setTimeout(() => closable.closeAllConnections(), drainMs);
    closable.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    closable.closeIdleConnections();
  });
}

function portOf(server: ServerType): number | null {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : null;
}
