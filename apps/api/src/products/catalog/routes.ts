import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { readCapacity } from "../inventory/index.ts";
import { listVisibleRegions } from "../regions/index.ts";
import { checkCatalog, checkCheckCatalog } from "./check-catalog.ts";
import { viewCatalog } from "./view.ts";

export function mountCatalog(api: Api): void {
  operation(api, "getCatalog", {
    handle: async ({ db, organisationId }) => {
      const regions = await listVisibleRegions(db, organisationId);
      const capacities = await Promise.all(regions.map(({ slug }) => readCapacity(db, slug)));
      return reply(200, viewCatalog(regions, capacities));
    },
  });
  operation(api, "checkCatalog", { check: checkCheckCatalog, handle: checkCatalog });
}
