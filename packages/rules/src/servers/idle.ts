import { type ActionDecision, allowed, refused } from "./action-decision.ts";
import type { ServerState, ServerStatus } from "./lifecycle.ts";

const statusNames: { readonly [status in ServerStatus]: string } = {
  creating: "being created",
  running: "running",
  stopped: "stopped",
  starting: "starting",
  stopping: "stopping",
  rebooting: "rebooting",
  resizing: "being resized",
  rebuilding: "being rebuilt",
  pending_deletion: "marked for removal",
  deleting: "being destroyed",
  error: "in error",
};

/** For actions that need a server without an open job: it must be in one of the statuses. */
export function decideOnIdle(
  statuses: readonly ServerStatus[],
  done: string,
  state: ServerState,
): ActionDecision {
  if (!statuses.includes(state.status))
    return refused("invalid_state", `The server is ${statusNames[state.status]} and cannot be ${done} now`);
  if (!state.wasCreated)
    return refused("invalid_state", "The server was never created; retry its creation first");
  if (state.openJob !== null)
    return refused("invalid_state", "The server has an open job, which has to end first");
  return allowed;
}
