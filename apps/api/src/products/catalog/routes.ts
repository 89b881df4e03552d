import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { listVisibleRegions } from "../regions/index.ts";
import { viewCatalog } from "./view.ts";

export function mountCatalog(api: Api): void {
  operation(api, "getCatalog", {
    handle: async (request) => {
      const regions = await listVisibleRegions(request.db, request.organisationId);
      return reply(200, viewCatalog(regions));
    },
  });
}
