import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { networks } from "./resource.ts";
import { networkTones } from "./status.ts";

/** The header of a network. */
export const headedNetworks: HeadedResource<Schemas["Network"]> = {
  resource: networks,
  headOf: (view, network) => ({
    status: (
      <Status tone={networkTones[network.status]}>{view.messages.networks.status[network.status]}</Status>
    ),
    lead: [network.description, network.region].filter((text) => text !== "").join(" · "),
    copied: [{ id: "network-cidr", label: view.messages.networks.cidr, text: network.cidr }],
    calls: [{ operation: "getNetwork", path: { network_id: network.id } }],
  }),
};
