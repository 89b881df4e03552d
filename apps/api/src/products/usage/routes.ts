import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { findOrganisation } from "../organisations/index.ts";
import { checkCorrection, correctUsage } from "./correct-usage.ts";
import { csv, exportUsage, ndjson } from "./export.ts";
import { listEvents, listSegments } from "./lists.ts";
import { summariseUsage } from "./summary.ts";
import { viewSegment, viewUsage } from "./view.ts";

export function mountUsage(api: Api): void {
  operation(api, "listUsage", {
    handle: async ({ db, organisationId, query }) => {
      const page = await listEvents(db, organisationId, query);
      return reply(200, { items: page.rows.map(viewUsage), next_cursor: page.nextCursor });
    },
  });
  operation(api, "listUsageSegments", {
    handle: async ({ db, organisationId, query }) => {
      const page = await listSegments(db, organisationId, query);
      return reply(200, { items: page.rows.map(viewSegment), next_cursor: page.nextCursor });
    },
  });
  operation(api, "correctUsage", {
    find: (request) => findOrganisation(request.db, request.pathId("organisation_id", "org")),
    check: checkCorrection,
    mutate: correctUsage,
  });
  operation(api, "summariseUsage", { handle: summariseUsage });
  operation(api, "exportUsageCsv", { handle: (request) => exportUsage(request, csv) });
  operation(api, "exportUsageNdjson", { handle: (request) => exportUsage(request, ndjson) });
}
