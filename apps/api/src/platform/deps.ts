import type { CrashHook } from "@kule/crash-points/crash-hook";
import type { Hono } from "hono";
import type { Database } from "./database.ts";
import type { DnsInstallation } from "./dns-installation.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Notifications } from "./notifications.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { RateLimiter } from "./rate-limit.ts";
import type { ReleaseFolder } from "./release-folder.ts";
import type { Settings } from "./settings.ts";
import type { TokenCache } from "./token-cache.ts";

/** What every operation may use; one object a process (or a test). */
export type Deps = {
  readonly settings: Settings;
  readonly db: Database;
  readonly tokens: TokenCache;
  readonly notifications: Notifications;
  readonly limiter: RateLimiter;
  readonly streams: OpenStreams;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Null: the installation serves no domains. */
  readonly dns: DnsInstallation | null;
  readonly releases: ReleaseFolder;
  /** Aborted when the process is told to stop: it is not ready any more, and answers until {@link stopping}. */
  readonly leaving: AbortSignal;
  /** Aborted when the process answers no new requests: long polls answer at once then. */
  readonly stopping: AbortSignal;
  /** Where test builds are killed; does nothing otherwise. */
  readonly crash: CrashHook;
};

/** The app and the dependencies that a product is mounted with. */
export type Api = { readonly hono: Hono; readonly deps: Deps };
