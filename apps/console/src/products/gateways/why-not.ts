import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, reasonOf } from "../../layout/act-button.tsx";
import type { GatewayPageProps } from "./show-page.tsx";

/** Why it cannot be changed by this person, or by anybody now. */
export function whyNot(
  { view, gateway }: Pick<GatewayPageProps, "view" | "gateway">,
  act: keyof Schemas["Gateway"]["actions"] | null,
): string | null {
  const permission = act === "delete" ? "gateway:delete" : "gateway:update";
  return notAllowed(view, permission) ?? (act === null ? null : reasonOf(view, gateway.actions[act]));
}
