import type { Schemas } from "@kule/contract/schemas";
import { regionSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const gateways: ListedResource<Schemas["Gateway"]> = {
  prefix: "gw",
  section: "gateways",
  operations: { list: "listGateways", get: "getGateway", update: "updateGateway", delete: "deleteGateway" },
  nameOf: ({ name }) => name,
  detailOf: ({ public_ip }) => public_ip.address,
  idsOf: ({ id }) => ({ gateway_id: id }),
  changeable: ({ name, description }) => ({ name, description }),
  settings: { fields: ["name", "description"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "gateway",
  tabs: { all: ["overview", "jobs", "audit", "settings"], settings: ["gateway:update", "gateway:delete"] },
  listed: {
    element: "gateway-list",
    choices: "gateways",
    filters: ["hostname", "region", "labels"],
    sorts: regionSorts,
    isLive: true,
    parents: ({ navigation }) => [{ path: "/networks", text: navigation.networks }],
    texts: ({ gateways: text }) => ({ ...text, create: text.give }),
  },
  texts: ({ gateways: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
