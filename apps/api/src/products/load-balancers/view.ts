import type { Schemas } from "@kule/contract/schemas";
import type { Refusal } from "@kule/rules/decision";
import { decideChange } from "@kule/rules/load-balancers/lifecycle";
import {
  isDegraded,
  type MachineSight,
  machineState,
  type Rounds,
} from "@kule/rules/load-balancers/machine-health";
import type { ResizedMachine, ResizeState } from "@kule/rules/load-balancers/resize";
import {
  loadBalancerStatus,
  type StatusFacts,
  type StatusReason,
  statusReason,
} from "@kule/rules/load-balancers/status";
import type { LoadBalancerDetails, MachineOfLoadBalancer } from "./store.ts";

/** What the rules know of its machines. */
export function sightsOf(row: LoadBalancerDetails): MachineSight[] {
  return row.machines.map((machine) => ({
    slot: machine.slot,
    serverId: machine.is_created ? machine.server_id : null,
    answeredAtMs: answeredOrRestarted(machine),
    askedAtMs: machine.asked_at_ms,
    unansweredAsks: machine.unanswered_asks,
    createdAtMs: machine.since_ms,
    isGone: machine.is_gone,
    observedGeneration: machine.observed_generation,
  }));
}

/** A resize may take longer than the silence of a machine that is lost: after it the machine has all of that time again. */
const answeredOrRestarted = ({ answered_at_ms, restarted_at_ms }: MachineOfLoadBalancer): number | null =>
  answered_at_ms === null ? null : Math.max(answered_at_ms, restarted_at_ms ?? 0);

/** Its server is there, and is not being changed. */
export const isIdle = ({ server_status }: MachineOfLoadBalancer): boolean =>
  server_status === "running" || server_status === "stopped";

/** What the rules know of its machines for a resize. */
export function resizedMachines(row: LoadBalancerDetails): ResizedMachine[] {
  const sights = sightsOf(row);
  return row.machines.flatMap((machine, index) => {
    const sight = sights[index];
    if (sight === undefined) return [];
    const { restarted_at_ms: restartedAt, answered_at_ms: answeredAt } = machine;
    const state = machineState(sight, row.wanted_generation);
    const hasAnswered = restartedAt === null || (answeredAt !== null && answeredAt > restartedAt);
    return [
      {
        slot: machine.slot,
        hasPackage: machine.package === null || machine.package === row.package,
        isIdle: isIdle(machine),
        isServing:
          machine.server_status === "running" && (state === "serving" || state === "behind") && hasAnswered,
        role: machine.role,
      },
    ];
  });
}

/** All its servers have its package; one that is still to be made gets it. */
export const isResized = (row: LoadBalancerDetails): boolean =>
  resizedMachines(row).every(({ hasPackage }) => hasPackage);

function resizeState(row: LoadBalancerDetails): ResizeState {
  if (isResized(row)) return "none";
  if (row.resize_failure === null) return "ongoing";
  return row.resize_failure === "resize_failed" ? "failed" : "waiting";
}

/** The last round of its region in which its machines were asked. */
export function roundsOf(row: LoadBalancerDetails): Rounds {
  const asked = row.machines.flatMap(({ asked_at_ms }) => (asked_at_ms === null ? [] : [asked_at_ms]));
  return { lastRoundAtMs: asked.length === 0 ? null : Math.max(...asked), nowMs: row.now_ms };
}

export const statusFacts = (row: LoadBalancerDetails): StatusFacts => ({
  isDeleting: row.is_deleting,
  hasOpenJob: row.job_id !== null,
  generation: row.generation,
  observedGeneration: row.observed_generation,
  failure: row.failure as StatusFacts["failure"],
  isDegraded: isDegraded(sightsOf(row), row.ha),
  resize: resizeState(row),
});

export function viewReason(row: LoadBalancerDetails): Schemas["LoadBalancer"]["status_reason"] {
  const reason = statusReason(statusFacts(row));
  if (reason === null) return null;
  return { ...reason, job_id: jobOfReason(row, reason.code) };
}

function jobOfReason(row: LoadBalancerDetails, code: StatusReason["code"]): string | null {
  if (code === "machine_silent" || code === "resize_waiting") return null;
  return code === "resize_failed" ? row.resize_job_id : row.failure_job_id;
}

/** A load balancer as the contract shows it. */
export function viewLoadBalancer(row: LoadBalancerDetails): Schemas["LoadBalancer"] {
  const change = viewAction(decideChange({ id: row.id, isDeleting: row.is_deleting }));
  return {
    id: row.id,
    name: row.name,
    region: row.region,
    network_id: row.network_id,
    subnet_id: row.subnet_id,
    description: row.description,
    status: loadBalancerStatus(statusFacts(row)),
    status_reason: viewReason(row),
    package: row.package,
    ha: row.ha,
    algorithm: row.algorithm as Schemas["LoadBalancerAlgorithm"],
    private_ip: row.shared_address ?? row.machines[0]?.private_ip ?? null,
    public_ip:
      row.public_ip_id === null || row.public_address === null
        ? null
        : { id: row.public_ip_id, address: row.public_address },
    machines: row.machines.map(({ slot, server_id, private_ip, observed_generation }) => ({
      slot,
      server_id,
      private_ip,
      observed_generation,
    })),
    listeners: row.listener_count,
    targets: row.target_count,
    labels: row.labels as Schemas["Labels"],
    actions: {
      change,
      apply: { ...change },
      resize: { ...change },
      delete: { allowed: true, code: null, reason: null },
    },
    job_id: row.job_id,
    generation: row.generation,
    observed_generation: row.observed_generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

const viewAction = (refusal: Refusal | null): Schemas["ActionState"] =>
  refusal === null
    ? { allowed: true, code: null, reason: null }
    : { allowed: false, code: refusal.code, reason: refusal.message };
