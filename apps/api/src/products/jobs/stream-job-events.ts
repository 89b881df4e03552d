import { setTimeout } from "node:timers/promises";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { NewsListener } from "../../platform/news.ts";
import { isStillAllowed } from "../../platform/still-allowed.ts";
import { listenToJob } from "./job-news.ts";
import { findJob, type JobDetails } from "./store.ts";
import { viewJob } from "./view.ts";

/** Proxies close what is silent for longer; it is also how soon a revoked token ends a quiet stream. */
const keepAliveMs = 10_000;
/** Many small changes make one event. */
const gatherMs = 100;
const retryAfterMs = 2_000;

/**
 * The job as server-sent events, one for each change. The id of an event is the job's version: a client that
 * reconnects with Last-Event-ID gets what it has not seen, and nothing twice. After `done` the stream ends.
 */
export function streamJobEvents(request: ApiRequest<"streamJobEvents">, found: JobDetails): Response {
  const { deps, context } = request;
  const headers = { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };
  // A HEAD request never reads the stream, and never closes it.
  if (context.req.method === "HEAD") return new Response(null, { status: 200, headers });
  const leave = deps.streams.take(request.caller);
  const closed = new AbortController();
  const gone = AbortSignal.any([deps.stopping, context.req.raw.signal, closed.signal]);
  const news = listenToJob(deps, found.id);
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      try {
        send(`retry: ${retryAfterMs}\n\n`);
        await follow(request, found, news, gone, send);
      } catch (error) {
        if (!gone.aborted) deps.log.warn({ err: error, requestId: request.id }, "an event stream broke");
      } finally {
        news.dispose();
        leave();
        // A client that disconnected has closed it already.
        if (!closed.signal.aborted) controller.close();
      }
    },
    cancel: () => closed.abort(),
  });
  return new Response(stream, { status: 200, headers });
}

async function follow(
  request: ApiRequest<"streamJobEvents">,
  found: JobDetails,
  news: NewsListener,
  gone: AbortSignal,
  send: (text: string) => void,
): Promise<void> {
  const { db } = request;
  let seen = lastSeen(request);
  let isQuiet = false;
  while (!gone.aborted) {
    if (!(await isStillAllowed(request))) return;
    const job = await findJob(db, found.organisation_id, found.id);
    if (job === null) return;
    const version = Number(job.version);
    if (version > seen) {
      send(
        `id: ${version}\nevent: job\ndata: ${JSON.stringify(viewJob(job, job.steps, request.caller))}\n\n`,
      );
      seen = version;
    } else if (isQuiet) send(": still here\n\n");
    if (job.finished_at !== null) return;
    isQuiet = !(await news.next(keepAliveMs, gone));
    // Changes that follow at once go into the same event; the job is read after this.
    if (!isQuiet) await setTimeout(gatherMs, undefined, { signal: gone }).catch(() => {});
  }
}

function lastSeen(request: ApiRequest): number {
  const id = request.header("Last-Event-ID") ?? "";
  return /^\d{1,15}$/.test(id) ? Number(id) : 0;
}
