import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { freshReport } from "./fresh-report.ts";
import { findReport } from "./store.ts";
import { viewReport } from "./view.ts";

export function mountInvariants(api: Api): void {
  operation(api, "getInvariants", {
    handle: async (request) => {
      const isFresh = request.query.fresh === true;
      return reply(200, viewReport(isFresh ? await freshReport(request) : await findReport(request.db)));
    },
  });
}
