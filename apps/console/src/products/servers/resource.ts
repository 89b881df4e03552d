import type { Schemas } from "@kule/contract/schemas";
import type { Resource } from "../../resources/resource.ts";

export const servers: Resource<Schemas["Server"]> = {
  prefix: "srv",
  section: "servers",
  operations: { list: "listServers", get: "getServer", update: "updateServer", delete: "deleteServer" },
  nameOf: ({ name }) => name,
  detailOf: ({ region, interfaces, public_ips: [ip] }) =>
    ip?.address ?? interfaces.find(({ primary }) => primary)?.private_ip ?? region,
  idsOf: ({ id }) => ({ server_id: id }),
  changeable: () => ({}),
  settings: { fields: ["name"], conflicts: { name_taken: "name", invalid_state: "name" } },
  hasLabels: true,
  isDeleteConfirmed: true,
  hasPage: true,
  found: "server",
  tabs: {
    all: ["overview", "network", "console", "jobs", "usage", "audit", "settings"],
    settings: ["server:update", "server:delete"],
  },
  texts: ({ servers: text }) => ({
    all: null,
    delete: { title: text.delete, lead: text.deleteLead, button: text.delete },
  }),
};
