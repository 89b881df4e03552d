import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";

/** Why a subnet and what is in it cannot be changed by this person, or by anybody now. */
export function whyNotChangeSubnet(
  { messages, session }: View,
  subnet: Pick<Schemas["Subnet"], "status">,
): string | null {
  if (session !== null && !may(session, "network:update"))
    return messages.common.notAllowed("network:update");
  return subnet.status === "deleting" ? messages.networks.status.deleting : null;
}
