import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, reasonOf } from "../../layout/act-button.tsx";
import type { PublicIpPageProps } from "./show-page.tsx";

/** Why it cannot be changed by this person, or by anybody now. */
export function whyNot(
  { view, ip }: Pick<PublicIpPageProps, "view" | "ip">,
  act: keyof Schemas["PublicIp"]["actions"] | null,
): string | null {
  const permission = act === "delete" ? "public_ip:delete" : "public_ip:update";
  return notAllowed(view, permission) ?? (act === null ? null : reasonOf(view, ip.actions[act]));
}
