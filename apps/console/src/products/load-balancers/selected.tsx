import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import { deleteAct, operationAct, type SelectedKind } from "../selected/kind.ts";
import { disabledReason } from "./disabled-reason.ts";
import { loadBalancers } from "./resource.ts";
import { balancerTones } from "./status.ts";

export const selectedLoadBalancers: SelectedKind<Schemas["LoadBalancer"], "apply" | "delete"> = {
  resource: loadBalancers,
  acts: {
    apply: operationAct(loadBalancers, "applyLoadBalancer", (view, balancer) =>
      disabledReason(view, balancer, "apply"),
    ),
    delete: deleteAct(loadBalancers, (view, balancer) => disabledReason(view, balancer, "delete")),
  },
  texts: ({ selectionKinds }) => selectionKinds.loadBalancers,
  state: ({ messages }, { status }) => (
    <Status tone={balancerTones[status]}>{messages.loadBalancers.status[status]}</Status>
  ),
};
