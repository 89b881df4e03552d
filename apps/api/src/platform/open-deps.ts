import { type CrashHook, noCrash } from "@kule/crash-points/crash-hook";
import { type OpenDatabase, openDatabase } from "./database.ts";
import type { Deps } from "./deps.ts";
import { dnsInstallation } from "./dns-installation.ts";
import type { Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { Notifications } from "./notifications.ts";
import { OpenStreams } from "./open-streams.ts";
import { RateLimiter } from "./rate-limit.ts";
import { ReleaseFolder } from "./release-folder.ts";
import type { Settings } from "./settings.ts";
import { TokenCache } from "./token-cache.ts";

export type OpenDeps = {
  readonly deps: Deps;
  readonly database: OpenDatabase;
  /** It is to be sent nothing any more. */
  leave(): void;
  /** Ends waiting requests, so that the server can drain. */
  stop(): void;
  /** Closes connections; after the last request. */
  close(): Promise<void>;
};

/** Everything a process or a test needs to run the API; the database may still be away. */
export async function openDeps(
  settings: Settings,
  log: Logger,
  crash: CrashHook = noCrash,
): Promise<OpenDeps> {
  const notifications = new Notifications(settings.databaseUrl, log);
  const database = openDatabase({
    url: settings.databaseUrl,
    poolSize: settings.poolSize,
    guardTenants: settings.testBuild,
    onIdleError: (error) => log.warn({ err: error }, "a database connection broke"),
    onNews: (news) => notifications.publish(news),
  });
  const tokens = new TokenCache(database.db, notifications, log);
  const leaving = new AbortController();
  const stopping = new AbortController();
  const releases = new ReleaseFolder(settings.agentReleases);
  await notifications.start();
  return {
    database,
    deps: {
      settings,
      db: database.db,
      tokens,
      notifications,
      limiter: new RateLimiter(),
      streams: new OpenStreams(),
      metrics: createMetrics(database.poolUse),
      log,
      dns: settings.dns === null ? null : dnsInstallation(settings.dns.file),
      releases,
      leaving: leaving.signal,
      stopping: stopping.signal,
      crash,
    },
    leave: () => leaving.abort(),
    stop() {
      leaving.abort();
      stopping.abort();
    },
    async close() {
      leaving.abort();
      stopping.abort();
      releases.stop();
      await tokens.close();
      await notifications.stop();
      await database.close();
    },
  };
}
