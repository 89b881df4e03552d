import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/action-button.tsx";
import type { View } from "../../layout/view.ts";

/** Why this person cannot delete it, or why it is not possible now; null when it is. */
export function deletionReason(
  view: View,
  { used_by }: Pick<Schemas["Certificate"], "used_by">,
): string | null {
  return (
    notAllowed(view, "certificate:delete") ??
    (used_by.length === 0 ? null : view.messages.certificates.deleteUsed)
  );
}
