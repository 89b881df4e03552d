import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, reasonOf } from "../../layout/action-button.tsx";
import type { GatewayTabProps } from "./props.ts";

/** Why it cannot be changed by this person, or at all now. */
export function disabledReason(
  { view, gateway }: Pick<GatewayTabProps, "view" | "gateway">,
  act: keyof Schemas["Gateway"]["actions"] | null,
): string | null {
  const permission = act === "delete" ? "gateway:delete" : "gateway:update";
  return notAllowed(view, permission) ?? (act === null ? null : reasonOf(view, gateway.actions[act]));
}
