import type { Channel, Notifications } from "./notifications.ts";

/** Reports once that something may have changed. */
export type NewsListener = {
  /**
   * Waits for news since the last call, for at most so many milliseconds, or until `gone`. The caller must
   * then read the state: the same news are not reported again.
   *
   * @returns whether there were news
   */
  next(ms: number, gone: AbortSignal): Promise<boolean>;
  dispose(): void;
};

/**
 * Listens on a channel. News that arrive before the first wait are kept, so that listening first and reading
 * the state then misses nothing.
 *
 * @param isMine whether a payload concerns the caller; missed messages always do
 */
export function listenFor(
  notifications: Notifications,
  channel: Channel,
  isMine: (payload: string) => boolean,
): NewsListener {
  let isNew = false;
  let wake: (() => void) | null = null;
  const unsubscribe = notifications.subscribe(channel, (payload) => {
    if (payload !== null && !isMine(payload)) return;
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
