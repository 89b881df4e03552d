import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import { deleteAct, type SelectedKind } from "../selected/kind.ts";
import { whyNotDeleteNetwork } from "./disabled-reason.ts";
import { networks } from "./resource.ts";
import { networkTones } from "./status.ts";

export const selectedNetworks: SelectedKind<Schemas["Network"], "delete"> = {
  resource: networks,
  acts: { delete: deleteAct(networks, (view, { subnets }) => whyNotDeleteNetwork(view, subnets)) },
  texts: ({ selectionKinds }) => selectionKinds.networks,
  state: ({ messages }, { status }) => (
    <Status tone={networkTones[status]}>{messages.networks.status[status]}</Status>
  ),
};
