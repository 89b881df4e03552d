import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/action-button.tsx";
import { deleteAct, operationAct, type SelectedKind } from "../selected/kind.ts";
import { firewalls } from "./resource.ts";

export const selectedFirewalls: SelectedKind<Schemas["Firewall"], "apply" | "delete"> = {
  resource: firewalls,
  acts: {
    apply: operationAct(
      firewalls,
      "applyFirewall",
      (view, { attachments }) =>
        notAllowed(view, "firewall:update") ??
        (attachments.length === 0 ? view.messages.firewalls.attachments.applyNone : null),
    ),
    delete: deleteAct(
      firewalls,
      (view, { attachments }) =>
        notAllowed(view, "firewall:delete") ??
        (attachments.length === 0 ? null : view.messages.firewalls.deleteAttached),
    ),
  },
  texts: ({ selectionKinds }) => selectionKinds.firewalls,
  state: ({ messages }, { rules }) => messages.firewalls.ruleCount(rules.length),
};
