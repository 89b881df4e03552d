import type { RequestBody } from "@kule/contract/schemas";
import { readServerName } from "@kule/rules/load-balancers/render/server-lines";
import {
  type CheckErrorCode,
  type TargetStatus,
  targetHealth,
} from "@kule/rules/load-balancers/target-health";
import type { Counted, ListenerCounters, WorkerCounters } from "@kule/rules/load-balancers/usage";

export type MachineReport = RequestBody<"reportLoadBalancers">["reports"][number];
export type MachineStatus = NonNullable<MachineReport["status"]>;

/** Targets of a listener with the same health, as it is stored: 8,192 targets that are up are one name each. */
export type HealthGroup = {
  readonly listener_id: string;
  readonly status: TargetStatus;
  readonly error: { readonly code: CheckErrorCode; readonly seen_code: number | null } | null;
  readonly servers: readonly string[];
};

export type SeenListener = {
  readonly id: string;
  readonly is_open: boolean;
  readonly connections: number;
  readonly connections_per_second: number;
  readonly requests_per_second: number;
  readonly responses: readonly number[];
};

/** What a load balancer has; what a machine says of anything else is left out. */
export type Known = { readonly listeners: ReadonlySet<string>; readonly targets: ReadonlySet<string> };

/** The listeners of a status, each once. */
export function seenListeners(status: MachineStatus, known: Known): SeenListener[] {
  const byId = new Map(status.listeners.map((each) => [each.id, each]));
  return [...byId.values()].flatMap((each) =>
    known.listeners.has(each.id)
      ? [
          {
            id: each.id,
            is_open: each.is_open,
            connections: each.connections ?? 0,
            connections_per_second: each.connections_per_second ?? 0,
            requests_per_second: each.requests_per_second ?? 0,
            responses: each.responses.map((count) => count ?? 0),
          },
        ]
      : [],
  );
}

/** The most names that are kept of one reading. */
const maxNames = 8_192;

/** The health of the targets in our own words, which follows from what was seen now and before. */
export function seenHealth(
  status: MachineStatus,
  before: readonly HealthGroup[],
  known: Known,
): HealthGroup[] {
  const former = new Map<string, TargetStatus>();
  for (const group of before)
    for (const server of group.servers) former.set(`${group.listener_id} ${server}`, group.status);
  const groups = new Map<
    string,
    { -readonly [part in keyof HealthGroup]: HealthGroup[part] } & { servers: string[] }
  >();
  const told = new Set<string>();
  for (const check of status.checks) {
    if (!known.listeners.has(check.listener_id)) continue;
    const seen = {
      status: check.status,
      checkStatus: check.check_status,
      checkCode: check.check_code ?? null,
      lastCheck: check.last_check,
    };
    for (const server of check.servers) {
      const target = readServerName(server)?.targetId;
      const place = `${check.listener_id} ${server}`;
      if (target === undefined || !known.targets.has(target) || told.has(place)) continue;
      if (told.size >= maxNames) break;
      told.add(place);
      const health = targetHealth(seen, { isDrained: false, before: former.get(place) ?? null });
      const error =
        health.lastError === null
          ? null
          : { code: health.lastError.code, seen_code: health.lastError.seenCode };
      const key = `${check.listener_id} ${health.status} ${error?.code} ${error?.seen_code}`;
      const group = groups.get(key);
      if (group === undefined)
        groups.set(key, {
          listener_id: check.listener_id,
          status: health.status,
          error,
          servers: [server],
        });
      else group.servers.push(server);
    }
  }
  return [...groups.values()];
}

/** The counters of a status by worker: the one that serves, and those before it. */
export function seenWorkers(status: MachineStatus): WorkerCounters[] {
  const { boot_id: bootId, worker_pid } = status;
  const former = new Map<number, Map<string, ListenerCounters>>();
  for (const each of status.former) {
    const listeners = former.get(each.worker_pid) ?? new Map<string, ListenerCounters>();
    former.set(each.worker_pid, listeners.set(each.listener_id, countersOf(each)));
  }
  const serving: WorkerCounters[] =
    worker_pid === null
      ? []
      : [
          {
            bootId,
            pid: worker_pid,
            listeners: new Map(status.listeners.map((each) => [each.id, countersOf(each)])),
          },
        ];
  return [
    ...serving,
    ...[...former].flatMap(([pid, listeners]) => (pid === worker_pid ? [] : [{ bootId, pid, listeners }])),
  ];
}

type Told = Pick<
  MachineStatus["listeners"][number],
  "connections_total" | "requests_total" | "errors_total" | "bytes_in" | "bytes_out"
>;

const countersOf = (told: Told): ListenerCounters => ({
  connections: told.connections_total ?? 0,
  requests: told.requests_total ?? 0,
  errors: told.errors_total ?? 0,
  bytesIn: told.bytes_in ?? 0,
  bytesOut: told.bytes_out ?? 0,
});

type StoredCounted = {
  readonly read_at_ms: number;
  readonly spare_ms: number;
  readonly is_doubted: boolean;
  readonly workers: readonly {
    readonly boot_id: string;
    readonly pid: number;
    readonly listeners: readonly (readonly [string, ListenerCounters])[];
  }[];
};

export const storedCounted = ({ readAtMs, spareMs, isDoubted, workers }: Counted): StoredCounted => ({
  read_at_ms: readAtMs,
  spare_ms: spareMs,
  is_doubted: isDoubted,
  workers: workers.map(({ bootId, pid, listeners }) => ({ boot_id: bootId, pid, listeners: [...listeners] })),
});

export function countedOf(stored: unknown): Counted | null {
  if (stored === null) return null;
  const { read_at_ms, spare_ms, is_doubted, workers } = stored as StoredCounted;
  return {
    readAtMs: read_at_ms,
    spareMs: spare_ms,
    isDoubted: is_doubted,
    workers: workers.map(({ boot_id, pid, listeners }) => ({
      bootId: boot_id,
      pid,
      listeners: new Map(listeners),
    })),
  };
}
