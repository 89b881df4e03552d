import type { ApiRequest } from "../../platform/api-request.ts";
import { RateLimited } from "../../platform/errors.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { listenToJob } from "./job-news.ts";
import { findJob, type JobWithSteps } from "./store.ts";
import { viewJob } from "./view.ts";

/** How often a client is asked to poll; twice as often is accepted. */
const pollSeconds = 5;
/**
 * A poll right after the create, or two tabs, are allowed: this many polls are free, then the rate applies.
 */
const pollBurst = 10;
/** While a job makes many small steps, a waiting client gets at most one answer in this time. */
const gatherMs = 500;
/** A NOTIFY can be lost with its connection. */
const recheckMs = 5_000;

/**
 * Answers the job: at once, or with `wait` as soon as it changed.
 *
 * @throws RateLimited when the same token polls the same job more than twice as often as it should
 */
export async function getJob(request: ApiRequest<"getJob">, found: JobWithSteps): Promise<Reply> {
  const waitMs = (request.query.wait ?? 0) * 1000;
  const isOpen = found.finished_at === null;
  // Waiting should replace polling, and a client that waits cannot know that the job has ended in the
  // meantime.
  if (waitMs === 0) countPoll(request, found.id);
  const job = waitMs > 0 && isOpen ? await waitForChange(request, found, waitMs) : found;
  const headers: Record<string, string> =
    job.finished_at === null ? { "Retry-After": String(pollSeconds) } : {};
  return reply(200, viewJob(job, job.steps, request.caller), headers);
}

function countPoll({ deps, caller }: ApiRequest, jobId: string): void {
  const limit = { perHour: (2 * 3600) / pollSeconds, burst: pollBurst };
  const allowance = deps.limiter.take(`poll ${caller.tokenId} ${jobId}`, limit);
  if (!allowance.allowed)
    throw new RateLimited(
      pollSeconds,
      `this job is polled too often: ask every ${pollSeconds} seconds, or with ?wait=20, or follow its events`,
    );
}

async function waitForChange(
  request: ApiRequest<"getJob">,
  found: JobWithSteps,
  waitMs: number,
): Promise<JobWithSteps> {
  const { deps, db, context } = request;
  const deadline = performance.now() + waitMs;
  const gone = AbortSignal.any([deps.stopping, context.req.raw.signal]);
  const news = listenToJob(deps, found.id);
  const look = async () => (await findJob(db, found.organisation_id, found.id)) ?? found;
  const leftMs = () => deadline - performance.now();
  try {
    // Read again now that the notification is subscribed.
    let job = await look();
    while (job.version === found.version && leftMs() > 0 && !gone.aborted) {
      await news.next(Math.min(leftMs(), recheckMs), gone);
      job = await look();
    }
    const gatherUntil = performance.now() + Math.min(gatherMs, Math.max(0, leftMs()));
    while (job.finished_at === null && performance.now() < gatherUntil && !gone.aborted) {
      await news.next(gatherUntil - performance.now(), gone);
      job = await look();
    }
    return job;
  } finally {
    news.dispose();
  }
}
