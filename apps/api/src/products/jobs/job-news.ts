import type { Deps } from "../../platform/deps.ts";

/** Tells once that a job may have changed. */
export type JobNews = {
  /**
   * Waits for news since the last call, for at most so many milliseconds, or until `gone`. Whoever is told of news must
   * look: they are not told again.
   *
   * @returns whether there were news
   */
  next(ms: number, gone: AbortSignal): Promise<boolean>;
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
      new Promise<boolean>((done) => {
        const stop = () => {
          clearTimeout(timer);
          gone.removeEventListener("abort", stop);
          wake = null;
          done(isNew);
          isNew = false;
        };
        const timer = setTimeout(stop, ms);
        gone.addEventListener("abort", stop);
        wake = stop;
        if (isNew || gone.aborted) stop();
      }),
    dispose: unsubscribe,
  };
}
