import type { Schemas } from "@kule/contract/schemas";
import { attempt, readOrNull } from "../../api.ts";
import { Status } from "../../layout/parts.tsx";
import type { SelectedKind } from "../selected/selected-kind.ts";
import { gatewayTones } from "./gateway-status.ts";
import { whyNot } from "./why-not.ts";

export const selectedGateways: SelectedKind<Schemas["Gateway"], "delete"> = {
  page: "/gateways",
  section: "networks",
  prefix: "gw_",
  acts: {
    delete: {
      permission: "gateway:delete",
      isDanger: true,
      isTyped: true,
      why: (view, gateway) => whyNot({ view, gateway }, "delete"),
      called: (id) => ({ operation: "deleteGateway", path: { gateway_id: id } }),
      ask: (api, id, key) =>
        attempt(
          api.DELETE("/gateways/{gateway_id}", {
            params: { path: { gateway_id: id }, header: { "Idempotency-Key": key } },
          }),
        ),
    },
  },
  texts: ({ selectionKinds }) => selectionKinds.gateways,
  read: (api, id) => readOrNull(api.GET("/gateways/{gateway_id}", { params: { path: { gateway_id: id } } })),
  nameOf: ({ id, name }) => ({ id, name }),
  pathOf: (id) => `/gateways/${id}`,
  state: ({ messages }, { status }) => (
    <Status tone={gatewayTones[status]}>{messages.gateways.status[status]}</Status>
  ),
};
