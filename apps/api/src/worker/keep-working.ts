import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../platform/log.ts";
import type { RunningWorker } from "./run.ts";

export type KeepWorking = {
  readonly pauseMs?: number;
  /** Told whether a worker runs now. */
  readonly onChange?: (isRunning: boolean) => void;
};

/**
 * Keeps a worker running until told to stop. graphile's runner cannot start without its database, and ends
 * when it cannot record the end of a task; both are temporary, so another one is started after a moment.
 */
export async function keepWorking(
  start: () => Promise<RunningWorker>,
  stopSignal: Promise<unknown>,
  log: Pick<Logger, "info" | "error">,
  { pauseMs = 1_000, onChange = () => {} }: KeepWorking = {},
): Promise<void> {
  const stop = stopSignal.then(() => "stop" as const);
  for (;;) {
    const running = await start().catch((error: unknown) => {
      log.error({ err: error }, "the worker cannot start; retrying");
      return null;
    });
    if (running !== null) {
      log.info("working");
      onChange(true);
      const why = await Promise.race([
        stop,
        running.ended.then(
          () => null,
          (error: unknown) => error,
        ),
      ]);
      onChange(false);
      if (why === "stop") return running.stop();
      log.error({ err: why }, "the worker ended by itself; restarting it");
    }
    const next = await Promise.race([stop, delay(pauseMs, "again" as const)]);
    if (next === "stop") return;
  }
}
