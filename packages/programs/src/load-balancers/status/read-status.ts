// What the machine of a load balancer says of itself: the output of `kule-lb status` (infra/images/kule-lb). The machine
// may be malicious: nothing of it is taken without a check of its shape and size, and nothing about what is not ours.

import { asList, asRecord, asText } from "@kule/proxmox/guest-answer";

/** Since its worker was started; null where haproxy has no such number, such as requests of a tcp listener. */
export type Counters = {
  readonly connectionsTotal: number | null;
  readonly requestsTotal: number | null;
  /** Answers with 500 to 599, those of haproxy itself too. */
  readonly errorsTotal: number | null;
  readonly bytesIn: number | null;
  readonly bytesOut: number | null;
};

export type ListenerStatus = Counters & {
  readonly listenerId: string;
  readonly isOpen: boolean;
  readonly connections: number | null;
  readonly connectionsPerSecond: number | null;
  readonly requestsPerSecond: number | null;
  readonly connectionsDenied: number | null;
  readonly requestsDenied: number | null;
  readonly requestErrors: number | null;
  /** Answers by the first digit of their code, 1 to 5. */
  readonly responses: readonly (number | null)[];
};

/** What another worker counted before a reload, or still counts while its last connections end. */
export type FormerCounters = Counters & { readonly workerPid: number; readonly listenerId: string };

/** The health check of one target by one listener, in haproxy's words. */
export type TargetStatus = {
  readonly listenerId: string;
  /** As in the configuration: `tgt_…`, or `tgt_….srv_…`. */
  readonly server: string;
  /** Such as "UP", "DOWN 1/2", "DRAIN", "no check". */
  readonly status: string;
  /** Such as "L4CON", "L7STS"; empty before the first check. */
  readonly checkStatus: string;
  readonly checkCode: number | null;
  /** Region words, for operators only; empty for targets that are up. */
  readonly lastCheck: string;
  readonly changedSeconds: number | null;
  readonly connections: number | null;
};

export type LoadBalancerStatus = {
  readonly bootId: string;
  /** Of the configuration that is served; null when haproxy does not answer. */
  readonly generation: number | null;
  readonly workerPid: number | null;
  /** In seconds since 1970, by the machine's clock; with the pid it tells workers of one boot apart. */
  readonly workerStarted: number | null;
  readonly oldWorkers: number;
  readonly failedReloads: number | null;
  readonly connections: number | null;
  readonly mostConnections: number | null;
  /** Whether it has the virtual address; null without keepalived. */
  readonly role: "master" | "backup" | null;
  readonly listeners: readonly ListenerStatus[];
  readonly former: readonly FormerCounters[];
  readonly targets: readonly TargetStatus[];
  /** What the machine left out for want of room; the targets among it are up. */
  readonly omitted: { readonly listeners: number; readonly targets: number };
  /** Entries that were not taken: not ours, twice, or of a wrong shape. */
  readonly dropped: number;
};

/** Names of the servers by ids of listeners, as in the configuration that the machine was given. */
export type OwnServers = ReadonlyMap<string, ReadonlySet<string>>;

/** As the script limits it. */
export const MOST_STATUS_CHARACTERS = 262_144;
/** More than the script can put into its answer. */
const MOST_ENTRIES = 8_192;
/** The script keeps the counters of so many workers. */
const MOST_FORMER_WORKERS = 4;
const MOST_OLD_WORKERS = 1_000;

/**
 * The checked facts of a machine's answer.
 *
 * @param ours entries about anything else are dropped and counted
 * @returns null when the text is no status: too long, no JSON, or without the id of a boot
 */
export function readStatus(text: string, ours: OwnServers): LoadBalancerStatus | null {
  const answer = parsed(text);
  const bootId = asText(answer.boot_id, 36) ?? "";
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(bootId)) return null;
  const workerPid = count(answer.worker_pid);
  const listeners = entriesOf(answer.listeners, (entry) => listenerOf(entry, ours), MOST_ENTRIES);
  const former = entriesOf(
    answer.former,
    (entry) => formerOf(entry, ours, workerPid),
    ours.size * MOST_FORMER_WORKERS,
  );
  const targets = entriesOf(answer.targets, (entry) => targetOf(entry, ours), MOST_ENTRIES);
  return {
    bootId,
    generation: count(answer.generation),
    workerPid,
    workerStarted: count(answer.worker_started),
    oldWorkers: Math.min(count(answer.old_workers) ?? 0, MOST_OLD_WORKERS),
    failedReloads: count(answer.failed_reloads),
    connections: count(answer.connections),
    mostConnections: count(answer.most_connections),
    role: answer.role === "master" || answer.role === "backup" ? answer.role : null,
    listeners: listeners.taken,
    former: former.taken,
    targets: targets.taken,
    omitted: {
      listeners: Math.min(count(answer.omitted_listeners) ?? 0, MOST_ENTRIES),
      targets: Math.min(count(answer.omitted_targets) ?? 0, MOST_ENTRIES),
    },
    dropped: listeners.dropped + former.dropped + targets.dropped,
  };
}

function parsed(text: string): Record<string, unknown> {
  if (text.length > MOST_STATUS_CHARACTERS) return {};
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return {};
  }
}

/** A number that something can have been counted to; null for anything else. */
const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null;

type Keyed<Value> = { readonly key: string; readonly value: Value } | null;

/** The first of every key. A list that is too long is cut; what is behind it counts as dropped. */
function entriesOf<Value>(
  list: unknown,
  read: (entry: Record<string, unknown>) => Keyed<Value>,
  most: number,
): { readonly taken: readonly Value[]; readonly dropped: number } {
  const taken = new Map<string, Value>();
  for (const each of asList(list, most)) {
    const entry = read(asRecord(each));
    if (entry !== null && !taken.has(entry.key)) taken.set(entry.key, entry.value);
  }
  const said = Array.isArray(list) ? list.length : 0;
  return { taken: [...taken.values()], dropped: said - taken.size };
}

function countersOf(entry: Record<string, unknown>): Counters {
  return {
    connectionsTotal: count(entry.connections_total),
    requestsTotal: count(entry.requests_total),
    errorsTotal: count(entry.errors_total),
    bytesIn: count(entry.bytes_in),
    bytesOut: count(entry.bytes_out),
  };
}

/** The id of a listener of ours. */
function ownListener(value: unknown, ours: OwnServers): string | null {
  const id = asText(value, 64);
  return id !== null && ours.has(id) ? id : null;
}

function listenerOf(entry: Record<string, unknown>, ours: OwnServers): Keyed<ListenerStatus> {
  const listenerId = ownListener(entry.id, ours);
  if (listenerId === null) return null;
  const value: ListenerStatus = {
    listenerId,
    isOpen: entry.status === "OPEN",
    connections: count(entry.connections),
    connectionsPerSecond: count(entry.connections_per_second),
    requestsPerSecond: count(entry.requests_per_second),
    connectionsDenied: count(entry.connections_denied),
    requestsDenied: count(entry.requests_denied),
    requestErrors: count(entry.request_errors),
    responses: [1, 2, 3, 4, 5].map((digit) => count(entry[`responses_${digit}xx`])),
    ...countersOf(entry),
  };
  return { key: listenerId, value };
}

function formerOf(
  entry: Record<string, unknown>,
  ours: OwnServers,
  current: number | null,
): Keyed<FormerCounters> {
  const listenerId = ownListener(entry.listener, ours);
  const workerPid = count(entry.worker_pid);
  if (listenerId === null || workerPid === null || workerPid === current) return null;
  return { key: `${workerPid} ${listenerId}`, value: { workerPid, listenerId, ...countersOf(entry) } };
}

function targetOf(entry: Record<string, unknown>, ours: OwnServers): Keyed<TargetStatus> {
  const listenerId = ownListener(entry.listener, ours);
  const server = asText(entry.server, 128);
  if (listenerId === null || server === null || ours.get(listenerId)?.has(server) !== true) return null;
  const value: TargetStatus = {
    listenerId,
    server,
    status: visible(entry.status, 16),
    checkStatus: visible(entry.check_status, 16),
    checkCode: count(entry.check_code),
    lastCheck: visible(entry.last_check, 80),
    changedSeconds: count(entry.changed_seconds),
    connections: count(entry.connections),
  };
  return { key: `${listenerId} ${server}`, value };
}

/** Visible ASCII, as the script prints it; empty for anything else. */
function visible(value: unknown, most: number): string {
  const text = asText(value, most) ?? "";
  return /^[ -~]*$/.test(text) ? text : "";
}
