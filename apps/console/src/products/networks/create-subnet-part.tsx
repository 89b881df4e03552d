import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { pageOf } from "../../resources/resource.ts";
import { networks } from "./resource.ts";

/** Links to the page that creates a subnet of this network. */
export function CreateSubnetLink(props: { readonly view: View; readonly network: Schemas["Network"] }) {
  const { view, network } = props;
  return (
    <Offered view={view} permission="network:create">
      <a class="button" href={`${pageOf(networks, network)}/subnets/new`}>
        <Icon name="plus" size={16} />
        {view.messages.networks.createSubnet}
        {/* A list has one such link for each network. */}
        <span class="visually-hidden">: {network.name}</span>
      </a>
    </Offered>
  );
}
