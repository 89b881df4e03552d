import type { Api } from "../platform/deps.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import { operation } from "../platform/operation.ts";
import { claimJob } from "./claim-job.ts";
import { ClaimedJobs } from "./claimed-jobs.ts";
import { findReportedJob } from "./find-job.ts";
import { regionOf } from "./region.ts";
import { mountReleases } from "./release-routes.ts";
import { reportHealth } from "./report-health.ts";
import { checkInventory, reportInventory } from "./report-inventory.ts";
import { reportLoadBalancers } from "./report-load-balancers.ts";
import { checkReport, reportStep } from "./report-step.ts";

/** The region agent's calls. The token decides the region; no other region's resources can be named. */
export function mountAgent(api: Api, handlers: JobHandlers): void {
  const claimed = new ClaimedJobs();
  operation(api, "claimJob", { handle: (request) => claimJob(request, handlers, claimed) });
  operation(api, "reportStep", {
    find: (request) =>
      findReportedJob(request.db, claimed, request.pathId("job_id", "job"), regionOf(request)),
    check: checkReport,
    handle: (request, job) => reportStep(request, job, handlers, claimed),
  });
  operation(api, "reportHealth", { handle: (request) => reportHealth(request, handlers) });
  operation(api, "reportInventory", { check: checkInventory, handle: reportInventory });
  operation(api, "reportLoadBalancers", { handle: reportLoadBalancers });
  mountReleases(api);
}
