import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/action-button.tsx";
import type { View } from "../../layout/view.ts";

/** Why a subnet and its contents cannot be changed by this person, or at all now. */
export function whyNotChangeSubnet(view: View, subnet: Pick<Schemas["Subnet"], "status">): string | null {
  return (
    notAllowed(view, "network:update") ??
    (subnet.status === "deleting" ? view.messages.networks.status.deleting : null)
  );
}

/** Why a network cannot be deleted by this person, or at all while it has these subnets. */
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

/** Why a subnet cannot be deleted by this person, or at all while its addresses are used or reserved. */
export function whyNotDeleteSubnet(
  view: View,
  subnet: Pick<Schemas["Subnet"], "status" | "usage">,
): string | null {
  const { messages, format } = view;
  const { addresses_used: used, addresses_reserved: reserved } = subnet.usage;
  if (subnet.status === "deleting") return messages.networks.status.deleting;
  return (
    notAllowed(view, "network:delete") ??
    (used > 0
      ? messages.network.subnetHasServers(format.number(used))
      : reserved > 0
        ? messages.subnet.subnetReserves(reserved)
        : null)
  );
}
