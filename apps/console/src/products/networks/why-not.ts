import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/act-button.tsx";
import type { View } from "../../layout/view.ts";

/** Why a subnet and what is in it cannot be changed by this person, or by anybody now. */
export function whyNotChangeSubnet(view: View, subnet: Pick<Schemas["Subnet"], "status">): string | null {
  return (
    notAllowed(view, "network:update") ??
    (subnet.status === "deleting" ? view.messages.networks.status.deleting : null)
  );
}

/** Why a network cannot be deleted by this person, or by anybody while it has these subnets. */
export function whyNotDeleteNetwork(
  view: View,
  subnets: readonly { readonly name: string }[],
): string | null {
  return (
    notAllowed(view, "network:delete") ??
    (subnets.length === 0
      ? null
      : view.messages.network.hasSubnets(subnets.map(({ name }) => name).join(", ")))
  );
}
