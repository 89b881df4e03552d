import type { Schemas } from "@kule/contract/schemas";
import { reasonOf } from "../../layout/act-button.tsx";
import { may } from "../../session.ts";
import type { PublicIpPageProps } from "./show-page.tsx";

/** Why it cannot be changed by this person, or by anybody now. */
export function whyNot(
  { view, ip }: Pick<PublicIpPageProps, "view" | "ip">,
  act: keyof Schemas["PublicIp"]["actions"] | null,
): string | null {
  const { messages, session } = view;
  const permission = act === "delete" ? "public_ip:delete" : "public_ip:update";
  if (session !== null && !may(session, permission)) return messages.common.notAllowed(permission);
  return act === null ? null : reasonOf(view, ip.actions[act]);
}
