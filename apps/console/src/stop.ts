import type { Server, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** How long running requests may take to end, in milliseconds. */
const drainMs = 7_000;

/** How the panel's process ends: it says so, answers until the proxy has noticed, and cuts nobody off. */
export type Stop = {
  /** The process has been told to stop: it is to be sent nothing any more. */
  readonly hasBegun: boolean;
  /** Aborted when event streams end, which would never do so by themselves; browsers reopen them at another process. */
  readonly ending: AbortSignal;
  /** Before the first request. */
  watch(server: Server): void;
  /** Resolves when all is answered. */
  end(server: Server): Promise<void>;
};

/** @param delayMs for so long new requests are answered after the signal */
export function createStop(delayMs: number): Stop {
  let hasBegun = false;
  const ending = new AbortController();
  const open = new Set<ServerResponse>();
  // Once the stop has begun, each answer is the last one on its connection.
  const mark = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("Connection", "close");
  };
  return {
    get hasBegun() {
      return hasBegun;
    },
    ending: ending.signal,
    watch(server) {
      server.prependListener("request", (_request, response) => {
        if (hasBegun) return mark(response);
        open.add(response);
        response.once("close", () => open.delete(response));
      });
    },
    async end(server) {
      hasBegun = true;
      for (const response of open) mark(response);
      open.clear();
      await delay(delayMs);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      ending.abort();
      const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearTimeout(deadline);
    },
  };
}
