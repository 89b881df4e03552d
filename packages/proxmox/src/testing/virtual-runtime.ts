import { type Runtime, systemRuntime } from "../runtime.ts";

/** Pauses take no time and move the clock; another turn of the event loop happens in each. */
export function virtualRuntime(
  startMilliseconds = systemRuntime.now(),
): Runtime & { readonly pauses: number[] } {
  let now = startMilliseconds;
  const pauses: number[] = [];
  return {
    pauses,
    now: () => now,
    pause: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      pauses.push(milliseconds);
      now += milliseconds;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
