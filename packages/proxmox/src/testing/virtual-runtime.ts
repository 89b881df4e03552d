import { type Runtime, systemRuntime } from "../runtime.ts";

/** Pauses take no time and move the clock; each takes one turn of the event loop. */
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
