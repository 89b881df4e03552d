import type { Schemas } from "@kule/contract/schemas";
import type { HealthCheck } from "@kule/rules/load-balancers/intent";
import { machineState } from "@kule/rules/load-balancers/machine-health";
import { serverName } from "@kule/rules/load-balancers/render/server-lines";
import { loadBalancerStatus } from "@kule/rules/load-balancers/status";
import {
  checkErrorMessage,
  shownHealth,
  type TargetHealth,
  type TargetStatus,
} from "@kule/rules/load-balancers/target-health";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { readTogether } from "../../platform/transaction.ts";
import { type ListenerRow, listenersOf } from "./listener-store.ts";
import type { HealthGroup, SeenListener } from "./seen-state.ts";
import type { LoadBalancerDetails } from "./store.ts";
import { resolvedTargets, targetsOf } from "./target-store.ts";
import { sightsOf, statusFacts, viewReason } from "./view.ts";

type Sight = {
  readonly role: "active" | "standby" | null;
  readonly answeredAt: Date | null;
  readonly listeners: readonly SeenListener[];
  /** By listener and the target's name in the configuration. */
  readonly health: ReadonlyMap<string, TargetHealth>;
};

export async function readHealth({ db }: ApiRequest, row: LoadBalancerDetails): Promise<Reply> {
  const [listeners, { targets, leftOut }, stored, sights] = await readTogether(db, (tx) =>
    Promise.all([listenersOf(tx, row), resolvedTargets(tx, row), targetsOf(tx, row), readSights(tx, row)]),
  );
  const named = new Map(stored.map((each) => [each.id, each.server_id]));
  const body: Schemas["LoadBalancerHealth"] = {
    status: loadBalancerStatus(statusFacts(row)),
    status_reason: viewReason(row),
    machines: viewMachines(row),
    listeners: listeners.map((listener) => viewListener(listener, sights)),
    targets: targets.map((target) => {
      const isDrained = target.drain || target.weight === 0;
      const checks = listeners
        .filter((listener) => !listener.redirect_to_https)
        .map((listener) => viewCheck(listener, serverName(target), isDrained, sights));
      return {
        target_id: target.targetId,
        server_id: target.selectedServerId ?? named.get(target.targetId) ?? null,
        address: target.address,
        status: worstOf(checks.map(({ status }) => status)),
        listeners: checks,
      };
    }),
    left_out: [...leftOut.values()].reduce((sum, count) => sum + count, 0),
  };
  return reply(200, body);
}

async function readSights(db: Database | Tx, row: LoadBalancerDetails): Promise<Sight[]> {
  const current = row.machines.flatMap(({ server_id }) => (server_id === null ? [] : [server_id]));
  if (current.length === 0) return [];
  const rows = await db
    .selectFrom("load_balancer_sight")
    .select(["role", "answered_at", "listeners", "health"])
    .where("organisation_id", "=", row.organisation_id)
    .where("load_balancer_id", "=", row.id)
    .where("server_id", "in", current)
    .orderBy("slot")
    .execute();
  return rows.map(({ role, answered_at, listeners, health }) => ({
    role: role as Sight["role"],
    answeredAt: answered_at,
    listeners: listeners as unknown as readonly SeenListener[],
    health: healthByPlace(health as unknown as readonly HealthGroup[]),
  }));
}

function healthByPlace(groups: readonly HealthGroup[]): ReadonlyMap<string, TargetHealth> {
  const byPlace = new Map<string, TargetHealth>();
  for (const { listener_id, status, error, servers } of groups) {
    const lastError = error === null ? null : { code: error.code, seenCode: error.seen_code };
    for (const server of servers) byPlace.set(`${listener_id} ${server}`, { status, lastError });
  }
  return byPlace;
}

function viewMachines(row: LoadBalancerDetails): Schemas["LoadBalancerHealth"]["machines"] {
  const sights = sightsOf(row);
  return row.machines.flatMap((machine, index) => {
    const sight = sights[index];
    if (sight === undefined) return [];
    return [
      {
        slot: machine.slot,
        server_id: machine.server_id,
        state: machineState(sight, row.wanted_generation),
        role: machine.role,
        observed_generation: machine.observed_generation,
        connections: machine.connections,
        answered_at: machine.answered_at_ms === null ? null : new Date(machine.answered_at_ms).toISOString(),
      },
    ];
  });
}

function viewListener(
  { id }: ListenerRow,
  sights: readonly Sight[],
): Schemas["LoadBalancerHealth"]["listeners"][number] {
  const seen = sights.flatMap(({ listeners }) => listeners.filter((each) => each.id === id));
  const sum = (of: (listener: SeenListener) => number) =>
    Math.min(
      Number.MAX_SAFE_INTEGER,
      seen.reduce((total, each) => total + of(each), 0),
    );
  return {
    listener_id: id,
    is_open: seen.some(({ is_open }) => is_open),
    connections: sum(({ connections }) => connections),
    connections_per_second: sum(({ connections_per_second }) => connections_per_second),
    requests_per_second: sum(({ requests_per_second }) => requests_per_second),
    responses: [0, 1, 2, 3, 4].map((digit) => sum(({ responses }) => responses[digit] ?? 0)),
  };
}

type Check = Schemas["LoadBalancerHealth"]["targets"][number]["listeners"][number];

/** Of one target at one listener. */
function viewCheck(listener: ListenerRow, name: string, isDrained: boolean, sights: readonly Sight[]): Check {
  const reports = sights.flatMap(({ role, health, answeredAt }) => {
    const found = health.get(`${listener.id} ${name}`);
    return found === undefined ? [] : [{ role, health: found, answeredAt }];
  });
  const shown = shownHealth(reports);
  const error = shown?.lastError ?? null;
  const by = reports.find(({ health }) => health === shown);
  return {
    listener_id: listener.id,
    status: isDrained ? "draining" : (shown?.status ?? "unknown"),
    last_error:
      error === null
        ? null
        : {
            code: error.code,
            message: checkErrorMessage(
              error,
              listener.health_check as unknown as HealthCheck,
              listener.target_port,
            ),
          },
    checked_at: by?.answeredAt?.toISOString() ?? null,
  };
}

const byBadness: readonly TargetStatus[] = ["unhealthy", "unknown", "draining", "healthy"];
const worstOf = (statuses: readonly TargetStatus[]): TargetStatus =>
  byBadness.find((status) => statuses.includes(status)) ?? "unknown";
