import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import type { Hono } from "hono";
import { buildAssets } from "../../scripts/build-assets.ts";
import { createConsole } from "../app.tsx";
import { type Assets, loadAssets } from "../assets.ts";
import type { ConsoleEnv } from "../console-context.ts";
import { createLog } from "../log.ts";
import { createJobStreams, type JobStreams } from "../products/jobs/streams.ts";
import { createSealer } from "../sealed-value.ts";
import { createCookies } from "../session.ts";
import { type FakeApi, startFakeApi } from "./fake-api.ts";

export const testSecret = "a secret of the tests, long enough to be one";

/** A console in this process before a stand-in for the API. */
export type ConsoleWorld = {
  readonly api: FakeApi;
  readonly app: Hono<ConsoleEnv>;
  readonly assets: Assets;
  /** The address for browsers, when `listen` is set. */
  readonly url: string;
  readonly jobStreams: JobStreams;
  /** All log lines of the console. */
  readonly logged: () => string;
  stop(): Promise<void>;
};

let builtAssets: Promise<Assets> | undefined;

/** The browser assets, built once per test process. */
function testAssets(): Promise<Assets> {
  builtAssets ??= (async () => {
    const directory = await mkdtemp(join(tmpdir(), "kule-console-assets-"));
    try {
      await buildAssets(directory);
      return loadAssets(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  })();
  return builtAssets;
}

const noAssets: Assets = {
  scriptPath: "/assets/console-test.js",
  stylePath: "/assets/style-test.css",
  parts: {
    jobs: { scriptPath: null, stylePath: "/assets/jobs-test.css" },
    networks: { scriptPath: null, stylePath: "/assets/networks-test.css" },
    operator: { scriptPath: null, stylePath: "/assets/operator-test.css" },
    passkeys: { scriptPath: "/assets/passkeys-test.js", stylePath: null },
    screen: { scriptPath: "/assets/screen-test.js", stylePath: "/assets/screen-test.css" },
    usage: { scriptPath: null, stylePath: "/assets/usage-test.css" },
  },
  fontPath: "/assets/inter-latin-test.woff2",
  handler: (context) => context.notFound(),
};

/** The address of the panel's links when it does not listen: not the host that visitors send. */
export const testPanelUrl = "https://panel.test";

/** @param options.listen with real assets on a free loopback port, for browsers */
export async function startConsoleWorld(
  options: {
    readonly listen?: boolean;
    readonly secrets?: readonly string[];
    readonly trustedProxies?: number;
  } = {},
): Promise<ConsoleWorld> {
  const api = await startFakeApi();
  const jobStreams = createJobStreams(50);
  const assets = options.listen ? await testAssets() : noAssets;
  let log = "";
  const settings = {
    apiUrl: api.url,
    publicUrl: testPanelUrl,
    socketOrigin: new URL(api.url).origin.replace("http", "ws"),
    visitorKey: testSecret,
    trustedProxies: options.trustedProxies ?? 0,
  };
  const app = createConsole(
    {
      settings,
      cookies: createCookies(createSealer(options.secrets ?? [testSecret]), false),
      assets,
      jobStreams,
    },
    createLog((line) => {
      log += line;
    }),
  );
  const server = options.listen ? serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }) : null;
  if (server !== null) await new Promise<void>((resolve) => server.once("listening", () => resolve()));
  const url =
    server === null ? "http://console.test" : `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (server !== null) settings.publicUrl = url;
  return {
    api,
    app,
    assets,
    url,
    jobStreams,
    logged: () => log,
    async stop() {
      if (server !== null) {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        if ("closeAllConnections" in server) server.closeAllConnections();
        await closed;
      }
      await api.stop();
    },
  };
}
