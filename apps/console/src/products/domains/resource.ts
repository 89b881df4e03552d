import type { Schemas } from "@kule/contract/schemas";
import { nameSorts } from "../../layout/list-query.ts";
import { typedNumber } from "../../posted-form.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const domains: ListedResource<Schemas["Domain"]> = {
  prefix: "dom",
  section: "domains",
  operations: { list: "listDomains", get: "getDomain", update: "updateDomain", delete: "deleteDomain" },
  nameOf: ({ unicode_name }) => unicode_name,
  detailOf: ({ name }) => name,
  idsOf: ({ id }) => ({ domain_id: id }),
  changeable: ({ ttl, description, protection }) => ({ ttl, description, protection }),
  settings: {
    fields: ["ttl", "description"],
    conflicts: {},
    bodyOf: (typed) => ({
      ttl: typedNumber((typed.get("ttl") ?? "").trim()),
      description: (typed.get("description") ?? "").trim(),
      protection: { delete: typed.has("protect") },
    }),
  },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "domain",
  tabs: {
    all: ["records", "import", "delegation", "dnssec", "jobs", "audit", "settings"],
    settings: ["domain:update", "domain:delete"],
  },
  listed: {
    element: "domain-list",
    choices: "domains",
    filters: ["hostname", "labels"],
    sorts: nameSorts,
    isLive: true,
    texts: ({ domains: text }) => text,
  },
  texts: ({ domains: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
