import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import { deleteAct, type SelectedKind } from "../selected/kind.ts";
import { deletionReason } from "./disabled-reason.ts";
import { certificates } from "./resource.ts";
import { certificateTones } from "./status.ts";

export const selectedCertificates: SelectedKind<Schemas["Certificate"], "delete"> = {
  resource: certificates,
  acts: { delete: deleteAct(certificates, deletionReason) },
  texts: ({ selectionKinds }) => selectionKinds.certificates,
  state: ({ messages }, { status }) => (
    <Status tone={certificateTones[status]}>{messages.certificates.status[status]}</Status>
  ),
};
