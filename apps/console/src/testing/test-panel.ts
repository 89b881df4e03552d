import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import type { Hono } from "hono";
import { createConsole } from "../app.tsx";
import type { Assets } from "../assets.ts";
import type { ConsoleEnv } from "../console-context.ts";
import { createLog } from "../log.ts";
import { type ConsoleMetrics, createConsoleMetrics } from "../metrics.ts";
import { createJobStreams, type JobStreams } from "../products/jobs/streams.ts";
import { createSealer, type Sealer } from "../sealed-value.ts";
import { createCookies } from "../session.ts";
import { builtAssets, noAssets } from "./test-assets.ts";

/** Seals the cookies and signs the addresses of visitors. */
export const testSecret = "a secret of the tests, long enough to be one";

/** The address of the panel's links when it does not listen: not the host that visitors send. */
export const testPanelUrl = "https://panel.test";

export type PanelOptions = {
  /** With real assets on a free loopback port, for browsers. */
  readonly listen?: boolean;
  readonly secrets?: readonly string[];
  readonly trustedProxies?: number;
};

/** The panel in this process. */
export type TestPanel = {
  readonly app: Hono<ConsoleEnv>;
  readonly assets: Assets;
  /** The address for browsers, when it listens. */
  readonly url: string;
  /** The address in the panel's own links. */
  readonly publicUrl: string;
  readonly sealer: Sealer;
  readonly jobStreams: JobStreams;
  readonly metrics: ConsoleMetrics;
  /** All log lines of the panel. */
  readonly logged: () => string;
  stop(): Promise<void>;
};

export async function startTestPanel(apiUrl: string, options: PanelOptions = {}): Promise<TestPanel> {
  const jobStreams = createJobStreams(50);
  const metrics = createConsoleMetrics();
  const assets = options.listen ? await builtAssets() : noAssets;
  let log = "";
  const settings = {
    apiUrl,
    shownApiUrl: apiUrl,
    publicUrl: testPanelUrl,
    socketOrigin: new URL(apiUrl).origin.replace("http", "ws"),
    visitorKey: testSecret,
    trustedProxies: options.trustedProxies ?? 0,
  };
  const sealer = createSealer(options.secrets ?? [testSecret]);
  const app = createConsole(
    { settings, cookies: createCookies(sealer, false), assets, jobStreams, metrics },
    createLog((line) => {
      log += line;
    }),
  );
  const server = options.listen ? serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }) : null;
  if (server !== null && !server.listening)
    await new Promise<void>((resolve) => server.once("listening", () => resolve()));
  const url =
    server === null ? "http://console.test" : `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (server !== null) settings.publicUrl = url;
  return {
    app,
    assets,
    url,
    publicUrl: settings.publicUrl,
    sealer,
    jobStreams,
    metrics,
    logged: () => log,
    async stop() {
      if (server === null) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ("closeAllConnections" in server) server.closeAllConnections();
      await closed;
    },
  };
}
