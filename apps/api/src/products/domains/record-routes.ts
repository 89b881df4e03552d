import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { changeRecordSets } from "./change-record-sets.ts";
import { changeRecordValues } from "./change-record-values.ts";
import { deleteRecordSet } from "./delete-record-set.ts";
import { exportZoneFile } from "./export-zone-file.ts";
import { importZoneFile } from "./import-zone-file.ts";
import { readRecordPath } from "./record-path.ts";
import { findRecordSet, listRecordSets } from "./record-store.ts";
import { viewRecordSets } from "./record-view.ts";
import { setRecordSet } from "./set-record-set.ts";
import { findDomain } from "./store.ts";

const findDomainOf = (request: ApiRequest) =>
  findDomain(request.db, request.organisationId, request.pathText("domain_id"));

async function findRecordSetOf(request: ApiRequest) {
  const domain = await findDomainOf(request);
  const path = domain === null ? null : readRecordPath(request, domain.name);
  if (domain === null || path === null) return null;
  const recordSet = await findRecordSet(request.db, domain, path);
  return recordSet === null ? null : { domain, recordSet };
}

/** The record sets of domains. */
export function mountRecordSets(api: Api): void {
  operation(api, "listRecordSets", {
    find: findDomainOf,
    handle: async (request, domain) => {
      const page = await listRecordSets(request.db, domain, request.query);
      const items = await viewRecordSets(request.db, domain, page.rows);
      return reply(200, { items, next_cursor: page.nextCursor });
    },
  });
  operation(api, "getRecordSet", {
    find: findRecordSetOf,
    handle: async (request, { domain, recordSet }) => {
      const [view] = await viewRecordSets(request.db, domain, [recordSet]);
      return reply(200, view, { ETag: view?.etag ?? "" });
    },
  });
  operation(api, "setRecordSet", { find: findDomainOf, mutate: setRecordSet });
  operation(api, "deleteRecordSet", { find: findRecordSetOf, mutate: deleteRecordSet });
  operation(api, "changeRecordValues", { find: findDomainOf, mutate: changeRecordValues });
  operation(api, "changeRecordSets", { find: findDomainOf, mutate: changeRecordSets });
  operation(api, "importZoneFile", { find: findDomainOf, mutate: importZoneFile });
  operation(api, "exportZoneFile", { find: findDomainOf, handle: exportZoneFile });
}
