import type { RowRun } from "../row.ts";

export const publicBridge = "vmbr0";
/** Beyond the public network. */
export const someone = "198.51.100.1";

/** How many flows there are in each half, and how often each sends. */
export type Numbers = {
  readonly tcp: number;
  /** Each waits for its answer before it sends again: so many lie in a socket's buffer at once. */
  readonly udp: number;
  readonly everyMs: number;
  readonly edgeChanges: number;
};

export const numbers: Readonly<Record<RowRun["scale"], Numbers>> = {
  sample: { tcp: 40, udp: 16, everyMs: 20, edgeChanges: 6 },
  full: { tcp: 1_000, udp: 160, everyMs: 250, edgeChanges: 60 },
};
