import { hasAttachments } from "../../platform/filter-refresh.ts";
import { mayBeFiltered, type ServerHooks } from "../servers/index.ts";
import { renderFilter } from "./filter.ts";
import { attachToNewServer, firewallsOfNewServerErrors, lockForNewServer } from "./new-server.ts";
import { retryFilter, settleFilter } from "./settle.ts";

/** The hooks of firewalls for servers: their filter, and what their jobs do to it. */
export const firewallsOfServers: ServerHooks = {
  check: ({ db, organisationId }, { firewall_ids = [] }, region) =>
    firewallsOfNewServerErrors(db, organisationId, firewall_ids, region),
  lockForCreate: (tx, { organisation_id, region }, { firewall_ids = [] }) =>
    lockForNewServer(tx, organisation_id, firewall_ids, region),
  // After the addresses of the products before it: the rules are about them.
  give: (tx, server, { firewall_ids = [] }) => attachToNewServer(tx, server, firewall_ids),
  filter: renderFilter,
  settle: async (tx, { organisation_id, region }) => {
    const isAnyAttached = await hasAttachments(tx, organisation_id, region);
    return async (server, { job, end }) => {
      if (mayBeFiltered(server, isAnyAttached)) await settleFilter(tx, server, job, end);
    };
  },
  retried: retryFilter,
};
