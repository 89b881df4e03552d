import type { Schemas } from "@kule/contract/schemas";
import { attempt, readOrNull } from "../../api.ts";
import { notAllowed } from "../../layout/act-button.tsx";
import type { SelectedKind } from "../selected/selected-kind.ts";

export const selectedSshKeys: SelectedKind<Schemas["SshKey"], "delete"> = {
  page: "/ssh-keys",
  section: "sshKeys",
  prefix: "key_",
  acts: {
    delete: {
      permission: "ssh_key:delete",
      isDanger: true,
      isTyped: true,
      why: (view) => notAllowed(view, "ssh_key:delete"),
      called: (id) => ({ operation: "deleteSshKey", path: { ssh_key_id: id } }),
      ask: (api, id, key) =>
        attempt(
          api.DELETE("/ssh-keys/{ssh_key_id}", {
            params: { path: { ssh_key_id: id }, header: { "Idempotency-Key": key } },
          }),
        ),
    },
  },
  texts: ({ selectionKinds }) => selectionKinds.sshKeys,
  read: (api, id) => readOrNull(api.GET("/ssh-keys/{ssh_key_id}", { params: { path: { ssh_key_id: id } } })),
  nameOf: ({ id, name }) => ({ id, name }),
  pathOf: () => null,
  state: (_, { fingerprint_sha256 }) => <span class="mono breakable">{fingerprint_sha256}</span>,
};
