import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import { deleteAct, operationAct, type SelectedKind } from "../selected/kind.ts";
import { disabledReason } from "./disabled-reason.ts";
import { domains } from "./resource.ts";
import { statusText, toneOf } from "./status.ts";

export const selectedDomains: SelectedKind<Schemas["Domain"], "apply" | "delete"> = {
  resource: domains,
  acts: {
    apply: operationAct(domains, "applyDomain", (view, domain) => disabledReason(view, domain, "apply")),
    delete: deleteAct(domains, (view, domain) => disabledReason(view, domain, "delete")),
  },
  texts: ({ selectionKinds }) => selectionKinds.domains,
  state: (view, domain) => <Status tone={toneOf(domain)}>{statusText(view, domain)}</Status>,
};
