import type { Refusal } from "../decision.ts";
import type { PreconditionName } from "../preconditions.ts";
import {
  guestAgentUnavailable,
  invalidState,
  locked,
  managed,
  resourceDeleting,
  resourceProtected,
} from "../refusals.ts";
import type { ActionCode, ActionDecision } from "./action-decision.ts";

type Around = {
  /** Id of the server, or of what it belongs to. */
  readonly resource: string;
  readonly fix: string | null;
  /** The required state. */
  readonly state: PreconditionName<"invalid_state">;
};

/** The refusal of what may not be done to a server now. */
export function actionRefused(
  { code, reason }: Extract<ActionDecision, { readonly allowed: false }>,
  { state, ...around }: Around,
): Refusal<ActionCode> {
  switch (code) {
    case "protected":
      return resourceProtected("server_not_protected", reason, around);
    case "resource_deleting":
      return resourceDeleting("server_not_deleting", reason, around);
    case "managed":
      return managed("server_not_managed", reason, around);
    case "locked":
      return locked("server_not_locked", reason, around);
    case "guest_agent_unavailable":
      return guestAgentUnavailable("guest_agent_answers", reason, around);
    case "invalid_state":
      return invalidState(state, reason, around);
  }
}
