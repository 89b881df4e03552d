import { type ActionDecision, allowed, refused } from "./action-decision.ts";
import { decideOnIdle } from "./idle.ts";
import type { ServerState, ServerStatus } from "./lifecycle.ts";

export const powerActions = ["start", "shutdown", "stop", "reboot", "reset"] as const;
export type PowerAction = (typeof powerActions)[number];

type PowerRule = {
  /**
   * The statuses in which it may be requested. A server in error may exist all the same, and needs a way out
   * of it.
   */
  readonly from: readonly ServerStatus[];
  /** The status on the way. */
  readonly through: ServerStatus;
  readonly participle: string;
};

const rules: { readonly [action in PowerAction]: PowerRule } = {
  start: { from: ["stopped", "error"], through: "starting", participle: "started" },
  shutdown: { from: ["running"], through: "stopping", participle: "shut down" },
  stop: { from: ["running", "error"], through: "stopping", participle: "stopped" },
  reboot: { from: ["running"], through: "rebooting", participle: "rebooted" },
  reset: { from: ["running"], through: "rebooting", participle: "reset" },
};

/** Whether the power action may be requested now. */
export function decidePower(action: PowerAction, state: ServerState): ActionDecision {
  if (action === "stop" && waitsForGuest(state)) return allowed;
  const { from, participle } = rules[action];
  if (action === "start" && state.status === "running")
    return refused("invalid_state", "The server is running already");
  if (action !== "start" && state.status === "stopped")
    return refused("invalid_state", "The server is stopped already");
  return decideOnIdle(from, participle, state);
}

/** A guest that is asked to shut down may take its time, or ignore it: a stop does not wait for that. */
export function waitsForGuest({ status, openJob }: ServerState): boolean {
  if (status !== "stopping" && status !== "rebooting") return false;
  return openJob?.kind === "ServerPower" && (openJob.action === "shutdown" || openJob.action === "reboot");
}

/** The server's status while the action is under way. */
export function statusDuring(action: PowerAction): ServerStatus {
  return rules[action].through;
}

/** Whether the server runs after the action. */
export function leavesRunning(action: PowerAction): boolean {
  return action !== "shutdown" && action !== "stop";
}
