import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { createOrganisation } from "./create-organisation.ts";
import { findOrganisation, listOrganisations } from "./store.ts";
import { updateOrganisation } from "./update-organisation.ts";
import { viewOrganisation } from "./view.ts";

export function mountOrganisations(api: Api): void {
  const find = (request: ApiRequest<"getOrganisationById" | "updateOrganisation">) =>
    findOrganisation(request.db, request.pathId("organisation_id", "org"));

  operation(api, "getOrganisation", {
    handle: async (request) => {
      const row = await findOrganisation(request.db, request.organisationId);
      if (row === null) throw new Error("the organisation of a valid token is gone");
      return reply(200, viewOrganisation(row));
    },
  });
  operation(api, "listOrganisations", {
    handle: async (request) => {
      const page = await listOrganisations(request.db, request.query);
      return reply(200, { items: page.rows.map(viewOrganisation), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createOrganisation", { mutate: createOrganisation });
  operation(api, "getOrganisationById", {
    find,
    handle: async (_request, row) => reply(200, viewOrganisation(row)),
  });
  operation(api, "updateOrganisation", { find, handle: updateOrganisation });
}
