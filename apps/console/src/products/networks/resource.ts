import type { Schemas } from "@kule/contract/schemas";
import { regionSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const networks: ListedResource<Schemas["Network"]> = {
  prefix: "net",
  section: "networks",
  operations: { list: "listNetworks", get: "getNetwork", update: "updateNetwork", delete: "deleteNetwork" },
  nameOf: ({ name }) => name,
  detailOf: ({ cidr }) => cidr,
  idsOf: ({ id }) => ({ network_id: id }),
  changeable: ({ name, description }) => ({ name, description }),
  settings: { fields: ["name", "description"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "network",
  tabs: { all: ["overview", "jobs", "audit", "settings"], settings: ["network:update", "network:delete"] },
  listed: {
    element: "network-list",
    choices: "networks",
    filters: ["hostname", "region", "labels"],
    sorts: regionSorts,
    texts: ({ networks: text }) => text,
  },
  texts: ({ network: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
