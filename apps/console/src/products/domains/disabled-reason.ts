import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/action-button.tsx";
import type { View } from "../../layout/view.ts";

const permissions = {
  verify: "domain:update",
  change: "domain_record:update",
  apply: "domain:update",
  set_dnssec: "domain:update",
  delete: "domain:delete",
  cancel_deletion: "domain:delete",
} as const satisfies Record<keyof Schemas["Domain"]["actions"], string>;

/** Why this person cannot do it, or why it is not possible now; null when it is. */
export function disabledReason(
  view: View,
  domain: Schemas["Domain"],
  act: keyof Schemas["Domain"]["actions"],
): string | null {
  const action = domain.actions[act];
  const missing = notAllowed(view, permissions[act]);
  if (missing !== null || action.allowed) return missing;
  const { messages } = view;
  if (messages.locale === "en" && action.reason !== null) return `${action.reason}.`;
  const { status } = domain;
  if (status === "expired" || status === "lost") return messages.domains.warnings[status];
  const code = action.code ?? "invalid_state";
  return messages.domains.reasons[code] ?? messages.conflicts[code] ?? action.reason;
}
