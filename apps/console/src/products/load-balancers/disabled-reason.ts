import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, reasonOf } from "../../layout/action-button.tsx";
import type { View } from "../../layout/view.ts";

/** Why this person cannot do it, or why it is not possible now; null when it is. */
export function disabledReason(
  view: View,
  { actions }: Pick<Schemas["LoadBalancer"], "actions">,
  act: keyof Schemas["LoadBalancer"]["actions"],
): string | null {
  return notAllowed(view, "load_balancer:write") ?? reasonOf(view, actions[act]);
}
