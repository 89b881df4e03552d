import { isPreemptedByInterfaceJobs } from "../jobs/actions.ts";
import { type ActionDecision, allowed, refused } from "./action-decision.ts";
import { decideOnIdle } from "./idle.ts";
import { managedReason, type ServerOwner } from "./owner.ts";
import { decidePower, type PowerAction, powerActions } from "./power.ts";

export const serverStatuses = [
  "creating",
  "running",
  "stopped",
  "starting",
  "stopping",
  "rebooting",
  "resizing",
  "rebuilding",
  "pending_deletion",
  "deleting",
  "error",
] as const;
export type ServerStatus = (typeof serverStatuses)[number];

/** The actions on a server. `actions` of a server shows each with its decision. */
export const serverActions = [
  "delete",
  "cancel_deletion",
  "purge",
  "update",
  "rename",
  ...powerActions,
  "resize",
  "rebuild",
  "password_reset",
  "password_reset_now",
] as const;
export type ServerAction = (typeof serverActions)[number];

/** The facts that decide whether an action on a server is possible. */
export type ServerState = {
  readonly status: ServerStatus;
  readonly deleteProtected: boolean;
  readonly rebuildProtected: boolean;
  /** Its VM was once observed as complete. Without that there is nothing to act on but a create. */
  readonly wasCreated: boolean;
  /** The job that waits or runs for it, with the power action if it is one; null when there is none. */
  readonly openJob: {
    readonly kind: string;
    readonly action: string | null;
    /** It is queued, and no agent runs it. */
    readonly isWaiting: boolean;
  } | null;
  /** Whether its guest agent answers, by its region's latest report; null when that is unknown. */
  readonly agentAnswers: boolean | null;
  /** A Windows password is in clear on the drive that a guest reads when it starts, so only the agent sets it. */
  readonly passwordByAgentOnly: boolean;
  /** Why an operator has locked it; null when it is not locked. */
  readonly lockedFor: string | null;
  /** What it belongs to, and what alone may change it; null for whoever may, such as the owner itself. */
  readonly managedBy: ServerOwner | null;
};

/**
 * Whether the action may be done on a server in that state, and why not. The same decision greys out the panel's
 * buttons (`actions` of a server) and refuses with 409, so the two cannot disagree.
 */
export function decideAction(action: ServerAction, state: ServerState): ActionDecision {
  if (state.managedBy !== null) return refused("managed", managedReason(state.managedBy));
  if (state.lockedFor !== null)
    return refused("locked", `The server is locked by an operator: ${state.lockedFor}`);
  switch (action) {
    case "delete":
      return (
        isBeingDeleted(state.status) ??
        (state.deleteProtected ? refused("protected", "The server is protected from deletion") : allowed)
      );
    case "cancel_deletion":
      if (state.status === "pending_deletion") return allowed;
      return isBeingDeleted(state.status) ?? refused("invalid_state", "The server is not marked for removal");
    case "purge":
      // A server in the buffer has passed the check of its protection already.
      if (state.status === "pending_deletion") return allowed;
      return decideAction("delete", state);
    case "rename":
      return isBeingDeleted(state.status) ?? decideOnIdle(["running", "stopped"], "renamed", state);
    case "rebuild":
      if (state.rebuildProtected && isBeingDeleted(state.status) === null)
        return refused("protected", "The server is protected from being rebuilt");
      return (
        isBeingDeleted(state.status) ??
        decideOnIdle(["running", "stopped", "error"], "rebuilt", withoutWaitingRules(state))
      );
    case "password_reset":
      return state.passwordByAgentOnly
        ? decideAction("password_reset_now", state)
        : decidePasswordReset(state);
    case "password_reset_now": {
      const decision = decidePasswordReset(state);
      return decision.allowed ? throughTheGuestAgent(state) : decision;
    }
    case "update":
      return isBeingDeleted(state.status) ?? allowed;
    case "resize":
      return isBeingDeleted(state.status) ?? decideOnIdle(["running", "stopped"], "resized", state);
    default:
      return isBeingDeleted(state.status) ?? decidePower(action satisfies PowerAction, state);
  }
}

function decidePasswordReset(state: ServerState): ActionDecision {
  return (
    isBeingDeleted(state.status) ?? decideOnIdle(["running", "stopped"], "given another password", state)
  );
}

/** When the guest agent was not queried recently, the job finds out whether it answers. */
function throughTheGuestAgent({ status, agentAnswers }: ServerState): ActionDecision {
  if (status !== "running")
    return refused(
      "guest_agent_unavailable",
      "The server is not running, so its guest agent cannot set a password",
    );
  if (agentAnswers === false)
    return refused(
      "guest_agent_unavailable",
      "The server's guest agent does not answer, and only it can set a password while the server runs",
    );
  return allowed;
}

/**
 * For what writes the VM's filter along with all else that it does: a round of the firewalls that waits, perhaps for long,
 * is superseded by it.
 */
export function withoutWaitingRules(state: ServerState): ServerState {
  const { openJob } = state;
  const givesWay = openJob?.isWaiting === true && isPreemptedByInterfaceJobs(openJob.kind);
  return givesWay ? { ...state, openJob: null } : state;
}

export function isBeingDeleted(status: ServerStatus): ActionDecision | null {
  if (status === "pending_deletion") return refused("resource_deleting", "The server is marked for removal");
  if (status === "deleting") return refused("resource_deleting", "The server is being destroyed");
  return null;
}

/** All actions with their decisions, as a server's `actions` show them. */
export function actionsOf(state: ServerState): { readonly [action in ServerAction]: ActionDecision } {
  return Object.fromEntries(serverActions.map((action) => [action, decideAction(action, state)])) as {
    [action in ServerAction]: ActionDecision;
  };
}

/** The state of a server that is restored from the removal buffer. */
export type RestoresTo = "running" | "stopped" | "error";

/**
 * The state that a server which is deleted now would be restored to.
 *
 * @param wasCreated its VM was once observed as complete; without that there is nothing to restore
 */
export function restoresTo(status: ServerStatus, wasCreated: boolean, powerIsOn: boolean): RestoresTo {
  if (!wasCreated) return "error";
  switch (status) {
    case "running":
    case "starting":
    case "rebooting":
      return "running";
    case "stopped":
    case "stopping":
      return "stopped";
    default:
      return powerIsOn ? "running" : "stopped";
  }
}
