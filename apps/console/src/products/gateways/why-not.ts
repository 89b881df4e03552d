import type { Schemas } from "@kule/contract/schemas";
import { reasonOf } from "../../layout/act-button.tsx";
import { may } from "../../session.ts";
import type { GatewayPageProps } from "./show-page.tsx";

/** Why it cannot be changed by this person, or by anybody now. */
export function whyNot(
  { view, gateway }: Pick<GatewayPageProps, "view" | "gateway">,
  act: keyof Schemas["Gateway"]["actions"] | null,
): string | null {
  const { messages, session } = view;
  const permission = act === "delete" ? "gateway:delete" : "gateway:update";
  if (session !== null && !may(session, permission)) return messages.common.notAllowed(permission);
  return act === null ? null : reasonOf(view, gateway.actions[act]);
}
