import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, reasonOf } from "../../layout/action-button.tsx";
import type { PublicIpTabProps } from "./props.ts";

/** Why it cannot be changed by this person, or at all now. */
export function disabledReason(
  { view, ip }: Pick<PublicIpTabProps, "view" | "ip">,
  act: keyof Schemas["PublicIp"]["actions"] | null,
): string | null {
  const permission = act === "delete" ? "public_ip:delete" : "public_ip:update";
  return notAllowed(view, permission) ?? (act === null ? null : reasonOf(view, ip.actions[act]));
}
