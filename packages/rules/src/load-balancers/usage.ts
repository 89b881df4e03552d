import { type Doubt, judgeTraffic, mostSpareMs } from "./plausible-traffic.ts";

/** What a listener has carried since its worker began. Bytes of https are those after decryption. */
export type ListenerCounters = {
  readonly connections: number;
  /** 0 of a listener that is not http. */
  readonly requests: number;
  /** Answers with 500 to 599. */
  readonly errors: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
};

/** The counters of one worker of haproxy's: a reload begins a new one, at zero. */
export type WorkerCounters = {
  /** The kernel's, new with each boot: process ids begin again then. */
  readonly bootId: string;
  readonly pid: number;
  readonly listeners: ReadonlyMap<string, ListenerCounters>;
};

export type Reading = {
  /** When it was read, in ms since 1970, by one clock. */
  readonly readAtMs: number;
  /** The one that serves, and those before it that still have connections, as far as they can be read. */
  readonly workers: readonly WorkerCounters[];
};

/** What of a machine was counted already. */
export type Counted = {
  readonly readAtMs: number;
  /** The last ones, the newest first. */
  readonly workers: readonly WorkerCounters[];
  /** Time in which less was carried than is possible, as `judgeTraffic` says it. */
  readonly spareMs: number;
  /** It was more than is possible: the next reading is where counting begins again. */
  readonly isDoubted: boolean;
};

/** A worker before these has ended: each lives at most 10 minutes after its reload. */
export const maxRememberedWorkers = 8;
/** What a machine says at once. */
const maxWorkers = 8;

export type UsageCount = {
  /** What has been added to each listener since the last reading; only those with more than zero. */
  readonly added: ReadonlyMap<string, ListenerCounters>;
  readonly counted: Counted;
  /** Why nothing of it counts; null: it could be. */
  readonly doubt: Doubt | null;
};

/**
 * What has been carried since the last reading.
 *
 * Of a worker that was not seen before all counts, of one that was only what is more; a counter that went back adds nothing
 * until it is past where it was. A reading that is not newer than the last one adds nothing, so a report may be repeated.
 * What a worker has carried between its last reading and its end is lost: read it before a reload.
 *
 * Of a reading with more than the machine can have carried in the time nothing counts. Counting begins again with the next one,
 * of which nothing counts either: which of the two was wrong is not known.
 *
 * @param counted null: nothing of this machine was ever counted
 * @param listenerIds those of the load balancer; what a machine says of others is left out
 * @param madeAtMs when the machine's server was made, by the same clock: it has carried nothing before
 */
export function countUsage(
  counted: Counted | null,
  reading: Reading,
  listenerIds: ReadonlySet<string>,
  madeAtMs: number,
): UsageCount {
  const { readAtMs } = reading;
  if (counted !== null && readAtMs <= counted.readAtMs) return { added: new Map(), counted, doubt: null };
  const added = new Map<string, ListenerCounters>();
  let remembered = counted?.workers ?? [];
  for (const worker of reading.workers.slice(0, maxWorkers)) {
    const before = remembered.find((each) => isSameWorker(each, worker));
    const highest = new Map(before?.listeners ?? []);
    for (const id of listenerIds) {
      const now = worker.listeners.get(id);
      if (now === undefined || !isPlausible(now)) continue;
      const old = highest.get(id) ?? zero;
      highest.set(id, perCounter(now, old, Math.max));
      const more = perCounter(now, old, (value, from) => Math.max(0, value - from));
      if (!isZero(more))
        added.set(
          id,
          perCounter(added.get(id) ?? zero, more, (one, other) => one + other),
        );
    }
    const { bootId, pid } = worker;
    remembered = [
      { bootId, pid, listeners: highest },
      ...remembered.filter((each) => !isSameWorker(each, worker)),
    ].slice(0, maxRememberedWorkers);
  }
  const { doubt, spareMs } = judgeTraffic(counted?.isDoubted === true ? [] : added.values(), {
    elapsedMs: readAtMs - (counted?.readAtMs ?? madeAtMs),
    spareMs: counted?.spareMs ?? mostSpareMs,
  });
  if (doubt !== null)
    return { added: new Map(), counted: { readAtMs, workers: [], spareMs, isDoubted: true }, doubt };
  return {
    added: counted?.isDoubted === true ? new Map() : added,
    counted: { readAtMs, workers: remembered, spareMs, isDoubted: false },
    doubt: null,
  };
}

const zero: ListenerCounters = { connections: 0, requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 };

function perCounter(
  one: ListenerCounters,
  other: ListenerCounters,
  of: (one: number, other: number) => number,
): ListenerCounters {
  return {
    connections: of(one.connections, other.connections),
    requests: of(one.requests, other.requests),
    errors: of(one.errors, other.errors),
    bytesIn: of(one.bytesIn, other.bytesIn),
    bytesOut: of(one.bytesOut, other.bytesOut),
  };
}

const values = ({ connections, requests, errors, bytesIn, bytesOut }: ListenerCounters) => [
  connections,
  requests,
  errors,
  bytesIn,
  bytesOut,
];
const isPlausible = (counters: ListenerCounters) =>
  values(counters).every((value) => Number.isSafeInteger(value) && value >= 0);
const isZero = (counters: ListenerCounters) => values(counters).every((value) => value === 0);
const isSameWorker = (one: WorkerCounters, other: WorkerCounters) =>
  one.bootId === other.bootId && one.pid === other.pid;
