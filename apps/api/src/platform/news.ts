import type { Channel, Notifications } from "./notifications.ts";

/** Tells once that something may have changed. */
export type NewsListener = {
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
 * Listens on a channel. News that come before anybody waits are kept, so that listening first and looking then misses
 * nothing.
 *
 * @param isMine whether a payload is worth a look; when some may have been missed, that is one
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
