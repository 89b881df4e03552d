import { hasOpenJob, hasOpenJobButRules, isLeaving, openJob, wasCreated } from "./model-state.ts";
import type { ModelServer, ServerStatus } from "./types.ts";

/** What people can do to an existing server. */
export const SERVER_ACTIONS = [
  "delete",
  "cancel_deletion",
  "purge",
  "update",
  "rename",
  "start",
  "shutdown",
  "stop",
  "reboot",
  "reset",
  "resize",
  "rebuild",
  "password_reset",
  "password_reset_now",
] as const;
export type ServerAction = (typeof SERVER_ACTIONS)[number];

/** In which statuses each is possible, once the server was created and while it has no open job. */
const idleIn: { readonly [action in ServerAction]?: readonly ServerStatus[] } = {
  rename: ["running", "stopped"],
  start: ["stopped", "error"],
  shutdown: ["running"],
  stop: ["running", "error"],
  reboot: ["running"],
  reset: ["running"],
  resize: ["running", "stopped"],
  rebuild: ["running", "stopped", "error"],
  password_reset: ["running", "stopped"],
  password_reset_now: ["running", "stopped"],
};

/** The code that the action is refused with; null when it may be done. */
export function refusalOf(action: ServerAction, server: ModelServer): string | null {
  const { status } = server;
  if (server.isLocked) return "locked";
  if (action === "cancel_deletion") {
    if (status === "pending_deletion") return null;
    return status === "deleting" ? "resource_deleting" : "invalid_state";
  }
  if (action === "purge" && status === "pending_deletion") return null;
  if (isLeaving(status)) return "resource_deleting";
  if (action === "delete" || action === "purge") return server.isProtected ? "protected" : null;
  if (action === "update") return null;
  if (action === "rebuild" && server.isRebuildProtected) return "protected";
  if (action === "stop" && waitsForGuest(server)) return null;
  const isBusy = action === "rebuild" ? hasOpenJobButRules(server) : hasOpenJob(server);
  const isIdle = idleIn[action]?.includes(status) === true && wasCreated(server) && !isBusy;
  if (!isIdle) return "invalid_state";
  // Only a running guest can be given a password; whether its agent answers is unknown in these runs.
  return action === "password_reset_now" && status !== "running" ? "guest_agent_unavailable" : null;
}

/** A guest was asked and takes its time: a stop does not wait for it. */
function waitsForGuest(server: ModelServer): boolean {
  if (server.status !== "stopping" && server.status !== "rebooting") return false;
  const job = openJob(server, "queued") ?? openJob(server, "running");
  return job?.kind === "ServerPower" && (job.order.action === "shutdown" || job.order.action === "reboot");
}
