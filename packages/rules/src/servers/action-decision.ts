export type ActionCode =
  | "protected"
  | "resource_deleting"
  | "invalid_state"
  | "locked"
  | "managed"
  | "guest_agent_unavailable";

/** Whether something may be done to a server, and why not. */
export type ActionDecision =
  | { readonly allowed: true; readonly code: null; readonly reason: null }
  | { readonly allowed: false; readonly code: ActionCode; readonly reason: string };

export const allowed: ActionDecision = { allowed: true, code: null, reason: null };

export function refused(code: ActionCode, reason: string): ActionDecision {
  return { allowed: false, code, reason };
}
