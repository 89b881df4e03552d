import type { Schemas } from "@kule/contract/schemas";
import { addressSorts } from "../../layout/list-query.ts";
import type { ListedResource } from "../../resources/resource.ts";

export const publicIps: ListedResource<Schemas["PublicIp"]> = {
  prefix: "ip",
  section: "publicIps",
  operations: {
    list: "listPublicIps",
    get: "getPublicIp",
    update: "updatePublicIp",
    delete: "deletePublicIp",
  },
  nameOf: ({ address }) => address,
  detailOf: ({ region }) => region,
  idsOf: ({ id }) => ({ public_ip_id: id }),
  changeable: ({ ptr }) => ({ ptr }),
  settings: {
    fields: ["ptr"],
    conflicts: {},
    bodyOf: (typed) => {
      const ptr = (typed.get("ptr") ?? "").trim();
      return {
        ptr: ptr === "" ? null : ptr,
        delete_with_server: typed.has("delete_with_server"),
        protection: { delete: typed.has("protect") },
      };
    },
  },
  hasLabels: true,
  isDeleteConfirmed: false,
  hasPage: true,
  found: "public_ip",
  tabs: {
    all: ["overview", "jobs", "usage", "audit", "settings"],
    settings: ["public_ip:update", "public_ip:delete"],
  },
  listed: {
    element: "public-ip-list",
    choices: "public_ips",
    filters: ["address", "region", "labels"],
    sorts: addressSorts,
    isLive: true,
    texts: ({ publicIps: text }) => ({ ...text, create: text.take }),
  },
  texts: ({ publicIps: text }) => ({ all: text.all }),
};
