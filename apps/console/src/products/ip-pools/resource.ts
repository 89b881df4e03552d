import type { Schemas } from "@kule/contract/schemas";
import { regionSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const ipPools: ListedResource<Schemas["IpPool"]> = {
  prefix: "pool",
  section: "operator",
  operations: { list: "listIpPools", get: "getIpPool", update: "updateIpPool", delete: "deleteIpPool" },
  nameOf: ({ name }) => name,
  detailOf: ({ region }) => region,
  idsOf: ({ id }) => ({ ip_pool_id: id }),
  changeable: ({ name, description, reverse_name }) => ({ name, description, reverse_name }),
  settings: {
    fields: ["name", "description", "reverse_name"],
    conflicts: { name_taken: "name" },
    bodyOf: (typed) => {
      const text = (field: string) => (typed.get(field) ?? "").trim();
      const pattern = text("reverse_name");
      return {
        name: text("name"),
        description: text("description"),
        reverse_name: pattern === "" ? null : pattern,
      };
    },
  },
  hasLabels: false,
  isDeleteConfirmed: true,
  hasPage: true,
  tabs: { all: ["overview", "settings"], settings: ["operator:ip_pools"] },
  listed: {
    element: "pool-list",
    choices: "ip_pools",
    filters: ["region"],
    sorts: regionSorts,
    parents: ({ navigation }) => [{ path: "/operator", text: navigation.operator }],
    texts: ({ ipPools: text }) => text,
  },
  texts: ({ ipPools: text }) => ({
    all: text.title,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
