import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/action-button.tsx";
import { deleteAct, type SelectedKind } from "../selected/kind.ts";
import { sshKeys } from "./resource.ts";

export const selectedSshKeys: SelectedKind<Schemas["SshKey"], "delete"> = {
  resource: sshKeys,
  acts: { delete: deleteAct(sshKeys, (view) => notAllowed(view, "ssh_key:delete")) },
  texts: ({ selectionKinds }) => selectionKinds.sshKeys,
  state: (_, { fingerprint_sha256 }) => <span class="mono breakable">{fingerprint_sha256}</span>,
};
