/** What other products may import of jobs. */
export { registerJobMetrics } from "./metrics.ts";
export { mountJobs } from "./routes.ts";
export { isBrokenByRebuild } from "./store.ts";
export { viewJobOrNone, viewWrittenJob } from "./written-job.ts";
