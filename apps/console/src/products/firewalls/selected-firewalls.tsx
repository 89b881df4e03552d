import type { Schemas } from "@kule/contract/schemas";
import { attempt, readOrNull } from "../../api.ts";
import { notAllowed } from "../../layout/act-button.tsx";
import type { SelectedKind } from "../selected/selected-kind.ts";

const optionsOf = (id: string, key: string) => ({
  params: { path: { firewall_id: id }, header: { "Idempotency-Key": key } },
});

export const selectedFirewalls: SelectedKind<Schemas["Firewall"], "apply" | "delete"> = {
  page: "/firewalls",
  section: "firewalls",
  prefix: "fw_",
  acts: {
    apply: {
      permission: "firewall:update",
      why: (view, { attachments }) =>
        notAllowed(view, "firewall:update") ??
        (attachments.length === 0 ? view.messages.firewalls.attachments.applyNone : null),
      called: (id) => ({ operation: "applyFirewall", path: { firewall_id: id } }),
      ask: (api, id, key) => attempt(api.POST("/firewalls/{firewall_id}/apply", optionsOf(id, key))),
    },
    delete: {
      permission: "firewall:delete",
      isDanger: true,
      isTyped: true,
      why: (view, { attachments }) =>
        notAllowed(view, "firewall:delete") ??
        (attachments.length === 0 ? null : view.messages.firewalls.deleteAttached),
      called: (id) => ({ operation: "deleteFirewall", path: { firewall_id: id } }),
      ask: (api, id, key) => attempt(api.DELETE("/firewalls/{firewall_id}", optionsOf(id, key))),
    },
  },
  texts: ({ selectionKinds }) => selectionKinds.firewalls,
  read: (api, id) =>
    readOrNull(api.GET("/firewalls/{firewall_id}", { params: { path: { firewall_id: id } } })),
  nameOf: ({ id, name }) => ({ id, name }),
  pathOf: (id) => `/firewalls/${id}`,
  state: ({ messages }, { rules }) => messages.firewalls.ruleCount(rules.length),
};
