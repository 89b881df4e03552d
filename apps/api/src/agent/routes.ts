import type { ApiRequest } from "../platform/api-request.ts";
import { systemQuery } from "../platform/database.ts";
import type { Api } from "../platform/deps.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import type { JobRow } from "../platform/jobs.ts";
import { operation } from "../platform/operation.ts";
import { claimJob } from "./claim-job.ts";
import { regionOf } from "./region.ts";
import { reportHealth } from "./report-health.ts";
import { checkInventory, reportInventory } from "./report-inventory.ts";
import { checkReport, reportStep } from "./report-step.ts";

/** The region agent's calls. The token decides the region; no other region's resources can be named. */
export function mountAgent(api: Api, handlers: JobHandlers): void {
  operation(api, "claimJob", { handle: (request) => claimJob(request, handlers) });
  operation(api, "reportStep", {
    find: findJob,
    check: checkReport,
    handle: (request, job) => reportStep(request, job, handlers),
  });
  operation(api, "reportHealth", { handle: (request) => reportHealth(request, handlers) });
  operation(api, "reportInventory", { check: checkInventory, handle: reportInventory });
}

async function findJob(request: ApiRequest<"reportStep">): Promise<JobRow | null> {
  const row = await systemQuery(request.db, "an agent's job is found by its region")
    .selectFrom("job")
    .selectAll()
    .where("id", "=", request.pathId("job_id", "job"))
    .where("region", "=", regionOf(request))
    .executeTakeFirst();
  return row ?? null;
}
