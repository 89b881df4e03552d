import type { ApiRequest } from "../platform/api-request.ts";
import { systemQuery } from "../platform/database.ts";
import type { Api } from "../platform/deps.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import type { JobIdentity } from "../platform/jobs.ts";
import { operation } from "../platform/operation.ts";
import { claimJob } from "./claim-job.ts";
import { ClaimedJobs } from "./claimed-jobs.ts";
import { regionOf } from "./region.ts";
import { reportHealth } from "./report-health.ts";
import { checkInventory, reportInventory } from "./report-inventory.ts";
import { checkReport, reportStep } from "./report-step.ts";

/** The region agent's calls. The token decides the region; no other region's resources can be named. */
export function mountAgent(api: Api, handlers: JobHandlers): void {
  const claimed = new ClaimedJobs();
  operation(api, "claimJob", { handle: (request) => claimJob(request, handlers, claimed) });
  operation(api, "reportStep", {
    find: (request) => findJob(request, claimed),
    check: checkReport,
    handle: (request, job) => reportStep(request, job, handlers, claimed),
  });
  operation(api, "reportHealth", { handle: (request) => reportHealth(request, handlers) });
  operation(api, "reportInventory", { check: checkInventory, handle: reportInventory });
}

async function findJob(request: ApiRequest<"reportStep">, claimed: ClaimedJobs): Promise<JobIdentity | null> {
  const id = request.pathId("job_id", "job");
  const known = claimed.find(id, regionOf(request));
  if (known !== null) return known;
  const row = await systemQuery(request.db, "an agent's job is found by its region")
    .selectFrom("job")
    .select(["id", "organisation_id", "region", "resource_type", "resource_id"])
    .where("id", "=", id)
    .where("region", "=", regionOf(request))
    .executeTakeFirst();
  if (row === undefined) return null;
  claimed.remember(row);
  return row;
}
