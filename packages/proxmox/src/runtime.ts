/** Time as this package sees it; a test passes one whose pauses take no time. */
export type Runtime = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after the time, or rejects with the signal's reason as soon as it is aborted. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
};

export const systemRuntime: Runtime = {
  now: () => Date.now(),
  pause: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, milliseconds);
      signal?.addEventListener("abort", abort, { once: true });
    }),
};
