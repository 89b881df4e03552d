import type { Schemas } from "@kule/contract/schemas";
import { typedList } from "../../posted-form.ts";
import type { Resource } from "../../resources/resource.ts";

export const subnets: Resource<Schemas["Subnet"]> = {
  prefix: "sub",
  section: "networks",
  operations: { list: "listSubnets", get: "getSubnet", update: "updateSubnet", delete: "deleteSubnet" },
  nameOf: ({ name }) => name,
  detailOf: ({ cidr }) => cidr,
  idsOf: ({ network_id, id }) => ({ network_id, subnet_id: id }),
  changeable: ({ name, dns_servers }) => ({ name, dns_servers }),
  settings: {
    fields: ["name", "dns_servers"],
    conflicts: { name_taken: "name" },
    bodyOf: (typed) => ({
      name: (typed.get("name") ?? "").trim(),
      dns_servers: typedList(typed.get("dns_servers") ?? ""),
    }),
  },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  tabs: { all: ["overview", "settings"], settings: ["network:update", "network:delete"] },
  texts: ({ network: text }) => ({
    all: text.all,
    delete: { title: text.deleteSubnetShort, lead: text.subnetDeleteLead, button: text.deleteSubnetShort },
  }),
};
