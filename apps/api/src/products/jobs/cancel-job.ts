import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import { handlerOf, type JobHandlers } from "../../platform/job-handler.ts";
import { cancelQueuedJob, type JobRow, requestCancel, seenByLastAttempt } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { findJob, type JobDetails, lockJob } from "./store.ts";
import { cancelDecision, refusedTo } from "./view.ts";
import { viewWrittenJob } from "./written-job.ts";

const message = "The job was cancelled";

/** Ends a waiting job at once; asks the holder of a running one to stop. */
export async function cancelJob(
  request: ApiRequest<"cancelJob">,
  tx: Tx,
  found: JobDetails,
  handlers: JobHandlers,
): Promise<Outcome> {
  const job = await lockWithResource(tx, found, handlers);
  const foreign = refusedTo(job, request.caller);
  if (foreign !== null) throw new Conflict(foreign);
  const decision = cancelDecision(job);
  if (!decision.allowed)
    throw new Conflict(invalidState("job_cancellable", decision.reason, { resource: job.id }), job.status);
  if (job.status === "queued") {
    cancelQueuedJob(tx, job, "cancelled", message);
    // An attempt before it may have switched the server off: what it observed last is what is known.
    const end = { status: "cancelled", message, code: null, ...seenByLastAttempt(job) } as const;
    await handlerOf(handlers, job).settle(tx, job, end, request.deps.settings);
  } else await requestCancel(tx, job);
  return { reply: reply(202, await viewWrittenJob(tx, job, request.caller)), resource: job.id };
}

/** The job as it is now that it and its resource are locked. */
export async function lockWithResource(
  tx: Tx,
  found: JobDetails,
  handlers: JobHandlers,
): Promise<JobDetails> {
  await handlerOf(handlers, found).lockResource(tx, found);
  const locked: JobRow = await lockJob(tx, found.organisation_id, found.id);
  const job = await findJob(tx, locked.organisation_id, locked.id);
  if (job === null) throw new NotFound();
  return job;
}
