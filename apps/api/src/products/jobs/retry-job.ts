import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { handlerOf, type JobHandlers } from "../../platform/job-handler.ts";
import { requeueEndedJob } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { lockWithResource } from "./cancel-job.ts";
import type { JobDetails } from "./store.ts";
import { refusedTo, retryDecision } from "./view.ts";
import { viewWrittenJob } from "./written-job.ts";

/** Queues a job again that ended without success; it continues from what exists. */
export async function retryJob(
  request: ApiRequest<"retryJob">,
  tx: Tx,
  found: JobDetails,
  handlers: JobHandlers,
): Promise<Outcome> {
  const job = await lockWithResource(tx, found, handlers);
  const foreign = refusedTo(job, request.caller);
  if (foreign !== null) throw new Conflict(foreign);
  const decision = retryDecision(job);
  if (!decision.allowed)
    throw new Conflict(invalidState("job_retryable", decision.reason, { resource: job.id }), job.status);
  const handler = handlerOf(handlers, job);
  await handler.preempt(tx, job);
  const queued = await requeueEndedJob(tx, job);
  await handler.retried(tx, queued, job);
  return { reply: reply(202, await viewWrittenJob(tx, queued, request.caller)), resource: job.id };
}
