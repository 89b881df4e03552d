import type { Logger } from "../platform/log.ts";
import { openDeps } from "../platform/open-deps.ts";
import { BadSettings, type Settings } from "../platform/settings.ts";
import { onceToldToStop } from "./stop-signal.ts";

/** Runs the control plane's own tasks until SIGTERM or SIGINT. graphile-worker's tables need their owner. */
export async function workerCommand(
  settings: Settings,
  environment: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<void> {
  const ownerUrl = environment.KULE_OWNER_DATABASE_URL;
  if (ownerUrl === undefined || ownerUrl === "") throw new BadSettings("KULE_OWNER_DATABASE_URL is not set");
  const stop = onceToldToStop();
  const { runWorker } = await import("../worker/run.ts");
  const open = await openDeps(settings, log);
  const running = await runWorker({ deps: open.deps, ownerUrl });
  log.info("working");
  const ended = await Promise.race([stop, running.ended.then(() => null)]);
  log.info({ signal: ended }, "stopping");
  await running.stop();
  await open.close();
  if (ended === null) throw new Error("the worker ended by itself");
}
