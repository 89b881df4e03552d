import type { Schemas } from "@kule/contract/schemas";
import { regionSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const loadBalancers: ListedResource<Schemas["LoadBalancer"]> = {
  prefix: "lb",
  section: "loadBalancers",
  operations: {
    list: "listLoadBalancers",
    get: "getLoadBalancer",
    update: "updateLoadBalancer",
    delete: "deleteLoadBalancer",
  },
  nameOf: ({ name }) => name,
  detailOf: ({ public_ip, private_ip, region }) => public_ip?.address ?? private_ip ?? region,
  idsOf: ({ id }) => ({ load_balancer_id: id }),
  changeable: ({ name, description, algorithm }) => ({ name, description, algorithm }),
  settings: { fields: ["name", "description", "algorithm"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "load_balancer",
  tabs: { all: ["overview", "jobs", "audit", "settings"], settings: ["load_balancer:write"] },
  listed: {
    element: "load-balancer-list",
    choices: "load_balancers",
    filters: ["hostname", "region", "labels"],
    sorts: regionSorts,
    isLive: true,
    texts: ({ loadBalancers: text }) => text,
  },
  texts: ({ loadBalancers: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
