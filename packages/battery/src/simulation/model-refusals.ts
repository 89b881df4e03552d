// The model's answers to requests.

import type { ServerAction, ServerState, ServerStatus } from "@kule/rules/servers/lifecycle";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import type { ModelJob, ModelServer, ModelState } from "./model-state.ts";

/** An answer of the API: its status, and what the caller does something about. */
export type ModelAnswer<Body> =
  | { readonly status: 200 | 202 | 204; readonly body: Body }
  | { readonly status: 404 | 409 | 422; readonly code: string };

export type Accepted = {
  readonly status: 202;
  readonly body: { readonly server: ModelServer; readonly job: ModelJob };
};
export type Refused = Extract<ModelAnswer<never>, { readonly code: string }>;
export type ServerAnswer = Accepted | Refused;

export const refused = (status: 404 | 409 | 422, code: string): Refused => ({ status, code });

/** The facts that the rules decide on. */
export function stateOfServer(state: ModelState, server: ModelServer): ServerState & { readonly id: string } {
  const { running, queued } = state.openJobs(server.id);
  const open = queued ?? running;
  return {
    id: server.id,
    status: server.status as ServerStatus,
    deleteProtected: server.deleteProtected,
    rebuildProtected: server.rebuildProtected,
    wasCreated: server.observedGeneration > 0,
    openJob:
      open === null
        ? null
        : { kind: open.kind, action: open.parameters.action ?? null, isWaiting: running === null },
    agentAnswers: null,
    // The simulation's servers are Linux.
    passwordByAgentOnly: false,
    lockedFor: null,
  };
}

/** The first reason to refuse the action; null allows it. */
export function refusedByRules(state: ModelState, server: ModelServer, action: ServerAction): Refused | null {
  if (server.status === "deleted") return refused(404, "not_found");
  const [first] = decideServerAction(action, stateOfServer(state, server));
  return first === undefined ? null : refused(409, first.code);
}

/** Ends a queued job: another one takes its place in the queue, or it is no longer wanted. */
export function cancelQueued(job: ModelJob, code: string): void {
  job.status = "cancelled";
  job.errorCode = code;
  job.ends += 1;
}
