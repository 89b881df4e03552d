import type { ListenerCounters } from "./usage.ts";

type Counter = keyof ListenerCounters;

/**
 * What a machine can carry at most in a second. Bytes: 100 Gbit/s in each direction, more than the network of a node gives one
 * VM. The rest: more than any haproxy has been seen to do.
 */
export const mostPerSecond: { readonly [counter in Counter]: number } = {
  connections: 10_000_000,
  requests: 10_000_000,
  errors: 10_000_000,
  bytesIn: 12_500_000_000,
  bytesOut: 12_500_000_000,
};

/**
 * How much of the time in which less was carried still counts at a later reading. A reading's age is the agent's word, and a
 * busy API makes it seem later than it was.
 */
export const mostSpareMs = 60_000;

export type Doubt = { readonly counter: Counter; readonly value: number; readonly inMs: number };

type Judged = {
  /** Null: it could be. */
  readonly doubt: Doubt | null;
  /** What is left of the time for the next reading. */
  readonly spareMs: number;
};

/**
 * Whether a machine can have carried this in the time since its last reading. What is left of the time goes on to the next reading
 * up to a limit, so over all readings no more is plausible than in the time that has passed, however many there are.
 *
 * @param elapsedMs since the last reading, by the clock of the control plane
 */
export function judgeTraffic(
  added: Iterable<ListenerCounters>,
  { elapsedMs, spareMs }: { readonly elapsedMs: number; readonly spareMs: number },
): Judged {
  const sums = { connections: 0, requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 };
  const counters = Object.keys(sums) as Counter[];
  for (const each of added) for (const counter of counters) sums[counter] += each[counter];
  const inMs = Math.max(0, elapsedMs) + spareMs;
  const needs = (counter: Counter) => (sums[counter] / mostPerSecond[counter]) * 1000;
  const [longest] = counters.toSorted((one, other) => needs(other) - needs(one));
  if (longest === undefined || needs(longest) <= inMs)
    return {
      doubt: null,
      spareMs: Math.min(mostSpareMs, inMs - (longest === undefined ? 0 : needs(longest))),
    };
  return {
    doubt: { counter: longest, value: sums[longest], inMs },
    spareMs: Math.min(mostSpareMs, inMs),
  };
}

const words: { readonly [counter in Counter]: string } = {
  connections: "connections",
  requests: "requests",
  errors: "errors",
  bytesIn: "bytes from clients",
  bytesOut: "bytes to clients",
};

/** For operators. */
export const doubtInWords = ({ counter, value, inMs }: Doubt): string =>
  `reports ${Math.round(value)} ${words[counter]} in ${Math.ceil(inMs / 1000)} s`;
