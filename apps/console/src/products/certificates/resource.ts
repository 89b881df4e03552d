import type { Schemas } from "@kule/contract/schemas";
import { nameSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const certificates: ListedResource<Schemas["Certificate"]> = {
  prefix: "cert",
  section: "certificates",
  operations: {
    list: "listCertificates",
    get: "getCertificate",
    update: "updateCertificate",
    delete: "deleteCertificate",
  },
  nameOf: ({ name }) => name,
  detailOf: ({ domain_names, region }) => domain_names[0] ?? region,
  idsOf: ({ id }) => ({ certificate_id: id }),
  changeable: ({ name }) => ({ name }),
  settings: { fields: ["name"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "certificate",
  tabs: {
    all: ["overview", "jobs", "audit", "settings"],
    settings: ["certificate:update", "certificate:delete"],
  },
  listed: {
    element: "certificate-list",
    choices: "certificates",
    filters: ["name", "region", "labels"],
    sorts: nameSorts,
    isLive: true,
    texts: ({ certificates: text }) => text,
  },
  texts: ({ certificates: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
