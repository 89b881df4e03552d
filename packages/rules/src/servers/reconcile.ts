import type { Refusal } from "../decision.ts";
import { invalidState } from "../refusals.ts";
import type { ActionDecision } from "./action-decision.ts";
import { refused } from "./action-decision.ts";
import { actionRefused } from "./action-refused.ts";
import { decideOnIdle } from "./idle.ts";
import { isBeingDeleted, type ServerState, withoutWaitingRules } from "./lifecycle.ts";

/** The drift of the server's VM in the last scans of the region; null when there is none. */
export type ReportedDrift = {
  readonly kind: "changed" | "missing" | "foreign" | "extra";
  readonly fields: readonly string[];
};

/** A size is changed by a resize, and power is followed. */
const left: ReadonlySet<string> = new Set(["vcpu", "memory_mb", "disk_gb", "power"]);

/** The agent's token does not reach it, so no job of the agent can change it. */
const hidden = "visibility";

/** Whether a job that reconciles the VM would change any of the reported differences. */
export const canBeReconciled = ({ kind, fields }: Pick<ReportedDrift, "kind" | "fields">): boolean =>
  kind === "changed" && !fields.includes(hidden) && fields.some((field) => !left.has(field));

export type ReconcileFacts = {
  readonly state: ServerState & { readonly id: string };
  /** A rebuild was interrupted: its retry restores what the VM lacks. */
  readonly isBrokenByRebuild: boolean;
  readonly drift: ReportedDrift | null;
};

/** Why the server's VM cannot be reconciled; nothing when the job may check for itself. */
export function decideReconcile({ state, isBrokenByRebuild, drift }: ReconcileFacts): Refusal[] {
  const decision = decideOnState(state, isBrokenByRebuild);
  if (!decision.allowed) {
    const fix = state.openJob === null ? null : "Wait until the open job is over";
    return [actionRefused(decision, { resource: state.id, fix, state: "server_in_right_state" })];
  }
  if (drift?.kind === "missing")
    return [
      invalidState("server_has_its_vm", "The last scan of the region found no VM of the server", {
        resource: state.id,
        fix: "Restore the VM at the hypervisor, or delete the server",
      }),
    ];
  if (drift?.fields.includes(hidden))
    return [
      invalidState(
        "server_has_its_vm",
        "The VM was taken out of its pool, and the region's agent may not see it",
        {
          resource: state.id,
          fix: "Put the VM back into its pool at the hypervisor: pveum pool modify <pool> --vms <number>",
        },
      ),
    ];
  if (drift !== null && !canBeReconciled(drift))
    return [
      invalidState(
        "drift_can_be_put_right",
        `Only ${drift.fields.join(", ")} of the VM differ, which stay as they are`,
        {
          resource: state.id,
          fix: `POST /servers/${state.id}/resize changes the VM's size`,
        },
      ),
    ];
  return [];
}

function decideOnState(state: ServerState, isBrokenByRebuild: boolean): ActionDecision {
  if (state.lockedFor !== null)
    return refused("locked", `The server is locked by an operator: ${state.lockedFor}`);
  const decision =
    isBeingDeleted(state.status) ??
    decideOnIdle(["running", "stopped", "error"], "put right", withoutWaitingRules(state));
  if (decision.allowed && isBrokenByRebuild)
    return refused("invalid_state", "A rebuild of the server has broken off; retry that job first");
  return decision;
}
