import type { Schemas } from "@kule/contract/schemas";
import { attempt, readOrNull } from "../../api.ts";
import { Status } from "../../layout/parts.tsx";
import type { SelectedKind } from "../selected/selected-kind.ts";
import { networkTones } from "./network-status.ts";
import { whyNotDeleteNetwork } from "./why-not.ts";

export const selectedNetworks: SelectedKind<Schemas["Network"], "delete"> = {
  page: "/networks",
  section: "networks",
  prefix: "net_",
  acts: {
    delete: {
      permission: "network:delete",
      isDanger: true,
      isTyped: true,
      why: (view, { subnets }) => whyNotDeleteNetwork(view, subnets),
      called: (id) => ({ operation: "deleteNetwork", path: { network_id: id } }),
      ask: (api, id, key) =>
        attempt(
          api.DELETE("/networks/{network_id}", {
            params: { path: { network_id: id }, header: { "Idempotency-Key": key } },
          }),
        ),
    },
  },
  texts: ({ selectionKinds }) => selectionKinds.networks,
  read: (api, id) => readOrNull(api.GET("/networks/{network_id}", { params: { path: { network_id: id } } })),
  nameOf: ({ id, name }) => ({ id, name }),
  pathOf: (id) => `/networks/${id}`,
  state: ({ messages }, { status }) => (
    <Status tone={networkTones[status]}>{messages.networks.status[status]}</Status>
  ),
};
