import type { Schemas } from "@kule/contract/schemas";
import type { Resource } from "../../resources/resource.ts";

export const reservations: Resource<Schemas["Reservation"]> = {
  prefix: "rsv",
  section: "networks",
  operations: {
    list: "listReservations",
    get: "getReservation",
    update: "updateReservation",
    delete: "deleteReservation",
  },
  nameOf: ({ name }) => name,
  detailOf: ({ address }) => address,
  idsOf: ({ network_id, subnet_id, id }) => ({ network_id, subnet_id, reservation_id: id }),
  changeable: ({ name, description }) => ({ name, description }),
  settings: { fields: ["name", "description"], conflicts: { name_taken: "name" } },
  hasLabels: true,
  isDeleteConfirmed: false,
  hasPage: false,
  texts: ({ network: text }) => ({ all: text.all }),
};
