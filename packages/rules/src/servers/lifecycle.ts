export const serverStatuses = [
  "creating",
  "running",
  "stopped",
  "starting",
  "stopping",
  "pending_deletion",
  "deleting",
  "error",
] as const;
export type ServerStatus = (typeof serverStatuses)[number];

export const serverActions = ["delete", "cancel_deletion", "update"] as const;
export type ServerAction = (typeof serverActions)[number];

export type ActionCode = "protected" | "resource_deleting" | "invalid_state";
export type ActionDecision =
  | { readonly allowed: true; readonly code: null; readonly reason: null }
  | { readonly allowed: false; readonly code: ActionCode; readonly reason: string };

const yes: ActionDecision = { allowed: true, code: null, reason: null };
const no = (code: ActionCode, reason: string): ActionDecision => ({ allowed: false, code, reason });

const beingRemoved = no("resource_deleting", "The server is marked for removal");
const beingDestroyed = no("resource_deleting", "The server is being destroyed");
const notMarked = no("invalid_state", "The server is not marked for removal");

/**
 * What may be done in which status. The same table greys out the panel's buttons (`actions` of a server) and
 * refuses with 409, so the two cannot disagree.
 */
const table: { readonly [status in ServerStatus]: { readonly [action in ServerAction]: ActionDecision } } = {
  creating: { delete: yes, cancel_deletion: notMarked, update: yes },
  running: { delete: yes, cancel_deletion: notMarked, update: yes },
  stopped: { delete: yes, cancel_deletion: notMarked, update: yes },
  starting: { delete: yes, cancel_deletion: notMarked, update: yes },
  stopping: { delete: yes, cancel_deletion: notMarked, update: yes },
  error: { delete: yes, cancel_deletion: notMarked, update: yes },
  pending_deletion: { delete: beingRemoved, cancel_deletion: yes, update: beingRemoved },
  deleting: { delete: beingDestroyed, cancel_deletion: beingDestroyed, update: beingDestroyed },
};

export type ServerState = { readonly status: ServerStatus; readonly deleteProtected: boolean };

/** Whether the action may be done on a server in that state, and why not. */
export function decideAction(action: ServerAction, state: ServerState): ActionDecision {
  const decision = table[state.status][action];
  if (decision.allowed && action === "delete" && state.deleteProtected)
    return no("protected", "The server is protected from deletion");
  return decision;
}

/** All actions with their decisions, as a server's `actions` show them. */
export function actionsOf(state: ServerState): { readonly [action in ServerAction]: ActionDecision } {
  return {
    delete: decideAction("delete", state),
    cancel_deletion: decideAction("cancel_deletion", state),
    update: decideAction("update", state),
  };
}

/** What taking a server out of the removal buffer leads to. */
export type RestoresTo = "running" | "stopped" | "error";

/**
 * What a server that is deleted now would be restored to.
 *
 * @param wasCreated its VM was once read back as complete; without that there is nothing to restore
 */
export function restoresTo(status: ServerStatus, wasCreated: boolean, powerIsOn: boolean): RestoresTo {
  if (!wasCreated) return "error";
  switch (status) {
    case "running":
    case "starting":
      return "running";
    case "stopped":
    case "stopping":
      return "stopped";
    default:
      return powerIsOn ? "running" : "stopped";
  }
}
