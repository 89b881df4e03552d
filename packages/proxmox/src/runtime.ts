/** Time as this package sees it; a test passes one whose pauses take no time. */
export type Runtime = {
  /**
   * Milliseconds since the epoch. Waits are measured by it, so it never jumps: setting back a wall clock by
   * an hour must not make a wait an hour longer, nor must one that runs ahead make a running task look dead.
   */
  now(): number;
  /** Resolves after the time, or rejects with the signal's reason as soon as it is aborted. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
};

/** Timers for limiting how long something may take. */
export type Timers = {
  /** Milliseconds from a fixed point in the past; steps of the wall clock do not touch it. */
  monotonic(): number;
  /** Calls back after the time, unless the function it answers is called before. */
  after(milliseconds: number, callback: () => void): () => void;
};

/** The only place where this package and those above it meet the machine's clock. */
export const systemRuntime: Runtime & Timers = {
  // The wall clock as it was when the process began, and from there by the monotonic one.
  now: () => performance.timeOrigin + performance.now(),
  monotonic: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
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
