import type { Schemas } from "@kule/contract/schemas";
import { nameSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const sshKeys: ListedResource<Schemas["SshKey"]> = {
  prefix: "key",
  section: "sshKeys",
  operations: { list: "listSshKeys", get: "getSshKey", update: "updateSshKey", delete: "deleteSshKey" },
  nameOf: ({ name }) => name,
  detailOf: ({ fingerprint_sha256 }) => fingerprint_sha256,
  idsOf: ({ id }) => ({ ssh_key_id: id }),
  changeable: ({ name }) => ({ name }),
  settings: { fields: ["name"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: false,
  hasPage: false,
  found: "ssh_key",
  listed: {
    element: "key-list",
    choices: "ssh_keys",
    filters: ["name", "labels"],
    sorts: nameSorts,
    texts: ({ sshKeys: text }) => ({ ...text, create: text.add }),
  },
  texts: ({ sshKeys: text }) => ({ all: text.title }),
};
