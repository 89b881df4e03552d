import type { ApiRequest } from "../../platform/api-request.ts";
import { Unavailable } from "../../platform/errors.ts";
import { listenFor } from "../../platform/news.ts";
import { findReport, requestReport, type StoredReport } from "./store.ts";

const longestWaitMs = 30_000;
/** A NOTIFY can be lost with its connection. */
const recheckMs = 2_000;

/**
 * Makes the worker scan the database now, and waits for the result: only the owner of the tables may read the
 * queue, and the API is not the owner.
 *
 * @throws Unavailable when there is none in time; an old report does not answer a request for a new one
 */
export async function freshReport({ deps, db, context }: ApiRequest<"getInvariants">): Promise<StoredReport> {
  const gone = AbortSignal.any([deps.stopping, context.req.raw.signal]);
  const deadline = performance.now() + longestWaitMs;
  const news = listenFor(deps.notifications, "kule_invariants", () => true);
  try {
    const askedAt = await requestReport(db);
    for (;;) {
      const report = await findReport(db, askedAt);
      if (report !== null) return report;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || gone.aborted)
        throw new Unavailable("the worker has not looked yet; is it running?", 30);
      await news.next(Math.min(leftMs, recheckMs), gone);
    }
  } finally {
    news.dispose();
  }
}
