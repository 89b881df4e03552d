import type { Deps } from "../../platform/deps.ts";

/** Tells once that a job may have changed. */
export type JobNews = {
  /** Waits for news since the last call, for at most so many milliseconds, or until `gone`. */
  next(ms: number, gone: AbortSignal): Promise<void>;
  dispose(): void;
};

/**
 * Listens for changes of one job. News that come before anybody waits are kept, so that listening first and looking
 * then misses nothing.
 */
export function listenToJob({ notifications }: Pick<Deps, "notifications">, jobId: string): JobNews {
  let isNew = false;
  let wake: (() => void) | null = null;
  const unsubscribe = notifications.subscribe("kule_job", (changed) => {
    if (changed !== null && changed !== jobId) return;
    isNew = true;
    wake?.();
  });
  return {
    next: (ms, gone) =>
      new Promise<void>((done) => {
        const stop = () => {
          clearTimeout(timer);
          gone.removeEventListener("abort", stop);
          wake = null;
          isNew = false;
          done();
        };
        const timer = setTimeout(stop, ms);
        gone.addEventListener("abort", stop);
        wake = stop;
        if (isNew || gone.aborted) stop();
      }),
    dispose: unsubscribe,
  };
}
