import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { gateways } from "./resource.ts";
import { gatewayTones } from "./status.ts";

/** The header of a gateway. */
export const headedGateways: HeadedResource<Schemas["Gateway"]> = {
  resource: gateways,
  headOf: (view, gateway) => ({
    status: (
      <Status tone={gatewayTones[gateway.status]}>{view.messages.gateways.status[gateway.status]}</Status>
    ),
    lead: [gateway.description, gateway.region].filter((text) => text !== "").join(" · "),
    copied: [
      { id: "gateway-address", label: view.messages.gateways.address, text: gateway.public_ip.address },
    ],
    calls: [{ operation: "getGateway", path: { gateway_id: gateway.id } }],
  }),
};
