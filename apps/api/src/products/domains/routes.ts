import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { mountRecordSets } from "./record-routes.ts";
import { findDomain, listDomains } from "./store.ts";
import { viewDomain } from "./view.ts";

export function mountDomains(api: Api): void {
  const find = (request: ApiRequest) =>
    findDomain(request.db, request.organisationId, request.pathText("domain_id"));

  operation(api, "listDomains", {
    handle: async (request) => {
      const page = await listDomains(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewDomain), next_cursor: page.nextCursor });
    },
  });
  operation(api, "getDomain", { find, handle: async (_request, domain) => reply(200, viewDomain(domain)) });
  mountRecordSets(api);
}
