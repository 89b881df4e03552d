import type { Schemas } from "@kule/contract/schemas";
import { regionSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const firewalls: ListedResource<Schemas["Firewall"]> = {
  prefix: "fw",
  section: "firewalls",
  operations: {
    list: "listFirewalls",
    get: "getFirewall",
    update: "updateFirewall",
    delete: "deleteFirewall",
  },
  nameOf: ({ name }) => name,
  detailOf: ({ region }) => region,
  idsOf: ({ id }) => ({ firewall_id: id }),
  changeable: ({ name, description }) => ({ name, description }),
  settings: { fields: ["name", "description"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "firewall",
  tabs: { all: ["overview", "audit", "settings"], settings: ["firewall:update", "firewall:delete"] },
  listed: {
    element: "firewall-list",
    choices: "firewalls",
    filters: ["hostname", "region", "labels"],
    sorts: regionSorts,
    isLive: true,
    texts: ({ firewalls: text }) => text,
  },
  texts: ({ firewalls: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
