import type { ApiRequest } from "../../platform/api-request.ts";
import { requirePermissions } from "../../platform/authorise.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { applyDomain } from "./apply-domain.ts";
import { cancelDomainDeletion } from "./cancel-domain-deletion.ts";
import { checkDomain } from "./check-domain.ts";
import { checkCreateDomain, createDomain } from "./create-domain.ts";
import { deleteDomain } from "./delete-domain.ts";
import { mountRecordSets } from "./record-routes.ts";
import { setDomainDnssec } from "./set-domain-dnssec.ts";
import { findDomain, listDomains } from "./store.ts";
import { checkUpdateDomain, updateDomain } from "./update-domain.ts";
import { verifyDomain } from "./verify-domain.ts";
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
  operation(api, "createDomain", { check: checkCreateDomain, mutate: createDomain });
  operation(api, "getDomain", { find, handle: async (_request, domain) => reply(200, viewDomain(domain)) });
  operation(api, "updateDomain", { find, check: checkUpdateDomain, mutate: updateDomain });
  operation(api, "deleteDomain", {
    find: (request) => {
      // The permission is checked before whether the domain exists.
      if (request.context.req.query("purge") === "true") requirePermissions(request, ["domain:purge"]);
      return find(request);
    },
    mutate: deleteDomain,
  });
  operation(api, "cancelDomainDeletion", { find, mutate: cancelDomainDeletion });
  operation(api, "verifyDomain", { find, handle: verifyDomain });
  operation(api, "checkDomain", { find, handle: checkDomain });
  operation(api, "applyDomain", { find, mutate: applyDomain });
  operation(api, "setDomainDnssec", { find, handle: setDomainDnssec });
  mountRecordSets(api);
}
