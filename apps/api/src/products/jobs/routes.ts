import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import type { JobHandlers } from "../../platform/job-handler.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { cancelJob } from "./cancel-job.ts";
import { getJob } from "./get-job.ts";
import { listOperatorJobs, viewOperatorJob } from "./operator-jobs.ts";
import { retryJob } from "./retry-job.ts";
import { findJob, listJobs } from "./store.ts";
import { streamJobEvents } from "./stream-job-events.ts";
import { listStuckJobs, viewStuckJob } from "./stuck-jobs.ts";
import { viewJob } from "./view.ts";

export function mountJobs(api: Api, handlers: JobHandlers): void {
  const find = (request: ApiRequest<"getJob" | "streamJobEvents" | "cancelJob" | "retryJob">) =>
    findJob(request.db, request.organisationId, request.pathId("job_id", "job"));

  operation(api, "listJobs", {
    handle: async (request) => {
      const page = await listJobs(request.db, request.organisationId, request.query);
      const items = page.rows.map((row) => viewJob(row, [], request.caller));
      return reply(200, { items, next_cursor: page.nextCursor });
    },
  });
  operation(api, "listOperatorJobs", {
    handle: async (request) => {
      const page = await listOperatorJobs(request.db, request.query);
      return reply(200, { items: page.rows.map(viewOperatorJob), next_cursor: page.nextCursor });
    },
  });
  operation(api, "listStuckJobs", {
    handle: async (request) => {
      const page = await listStuckJobs(request.db, request.query);
      return reply(200, { items: page.rows.map(viewStuckJob), next_cursor: page.nextCursor });
    },
  });
  operation(api, "getJob", { find, handle: getJob });
  operation(api, "streamJobEvents", {
    find,
    handle: async (request, job) => streamJobEvents(request, job),
  });
  operation(api, "cancelJob", {
    find,
    mutate: (request, tx, job) => cancelJob(request, tx, job, handlers),
  });
  operation(api, "retryJob", { find, mutate: (request, tx, job) => retryJob(request, tx, job, handlers) });
}
