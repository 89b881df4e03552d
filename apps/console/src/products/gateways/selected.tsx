import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import { deleteAct, type SelectedKind } from "../selected/kind.ts";
import { disabledReason } from "./disabled-reason.ts";
import { gateways } from "./resource.ts";
import { gatewayTones } from "./status.ts";

export const selectedGateways: SelectedKind<Schemas["Gateway"], "delete"> = {
  resource: gateways,
  acts: { delete: deleteAct(gateways, (view, gateway) => disabledReason({ view, gateway }, "delete")) },
  texts: ({ selectionKinds }) => selectionKinds.gateways,
  state: ({ messages }, { status }) => (
    <Status tone={gatewayTones[status]}>{messages.gateways.status[status]}</Status>
  ),
};
