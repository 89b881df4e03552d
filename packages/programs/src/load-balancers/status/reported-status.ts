// A machine's status as it is reported to the control plane: health checks with the same result are one entry, so that even
// the largest load balancer fits into one call.

import type { Schemas } from "@kule/contract/schemas";
import type { Counters, LoadBalancerStatus, TargetStatus } from "./read-status.ts";

export type ReportedStatus = Schemas["LoadBalancerMachineStatus"];

/** As the contract limits them. A machine that says something else about every target has the rest left out. */
const MOST_LISTENERS = 32;
const MOST_FORMER = 128;
const MOST_CHECKS = 512;
const MOST_SERVERS = 256;

export function reportedStatus(status: LoadBalancerStatus): ReportedStatus {
  const { checks, omitted } = checksOf(status.targets);
  return {
    boot_id: status.bootId,
    generation: status.generation,
    worker_pid: status.workerPid,
    worker_started: status.workerStarted,
    old_workers: status.oldWorkers,
    failed_reloads: status.failedReloads,
    connections: status.connections,
    most_connections: status.mostConnections,
    role: status.role,
    listeners: status.listeners.slice(0, MOST_LISTENERS).map((listener) => ({
      id: listener.listenerId,
      is_open: listener.isOpen,
      connections: listener.connections,
      connections_per_second: listener.connectionsPerSecond,
      requests_per_second: listener.requestsPerSecond,
      connections_denied: listener.connectionsDenied,
      requests_denied: listener.requestsDenied,
      request_errors: listener.requestErrors,
      responses: [...listener.responses],
      ...reportedCounters(listener),
    })),
    former: status.former.slice(0, MOST_FORMER).map((former) => ({
      worker_pid: former.workerPid,
      listener_id: former.listenerId,
      ...reportedCounters(former),
    })),
    checks,
    omitted_listeners: status.omitted.listeners,
    omitted_targets: status.omitted.targets + omitted,
  };
}

function reportedCounters({ connectionsTotal, requestsTotal, errorsTotal, bytesIn, bytesOut }: Counters) {
  return {
    connections_total: connectionsTotal,
    requests_total: requestsTotal,
    errors_total: errorsTotal,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
  };
}

/** In the order of the machine's answer: targets that are not up come first, so that those left out are healthy ones. */
function checksOf(targets: readonly TargetStatus[]): {
  readonly checks: ReportedStatus["checks"];
  readonly omitted: number;
} {
  const checks = new Map<string, ReportedStatus["checks"][number]>();
  let omitted = 0;
  for (const { listenerId, server, status, checkStatus, checkCode, lastCheck } of targets) {
    const key = JSON.stringify([listenerId, status, checkStatus, checkCode, lastCheck]);
    const same = checks.get(key);
    if (same !== undefined && same.servers.length < MOST_SERVERS) same.servers.push(server);
    else if (same !== undefined || checks.size >= MOST_CHECKS) omitted += 1;
    else
      checks.set(key, {
        listener_id: listenerId,
        status,
        check_status: checkStatus,
        check_code: checkCode,
        last_check: lastCheck,
        servers: [server],
      });
  }
  return { checks: [...checks.values()], omitted };
}
