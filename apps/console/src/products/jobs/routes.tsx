import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { attempt, conflictOf, read } from "../../api.ts";
import {
  type ConsoleEnv,
  type ConsoleServices,
  noticeOf,
  sessionOf,
  streamScope,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { problemText } from "../../problem-messages.ts";
import { may, safeReturnPath } from "../../session.ts";
import { ActivityPart, readActivity } from "./activity-part.tsx";
import { JobListPage } from "./list-page.tsx";
import { jobListParameters, readJobQuery } from "./list-query.ts";
import { JobPage } from "./show-page.tsx";
import { StreamPlaces } from "./stream-places.ts";
import { Timeline } from "./timeline-part.tsx";

// The stream ends after this time and the browser opens the next one, which checks the viewer's rights again.
const streamMs = 5 * 60_000;
const heartbeatMs = 20_000;
// The retry interval of browsers, and how long a request without an open job is held.
const retryMs = 5000;
// The most jobs that the page remembers, so that no address makes one request read hundreds of jobs.
const mostKnown = 20;

export function jobRoutes({ jobStreams, stop: processStop }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  const places = new StreamPlaces();

  routes.get("/jobs", async (context) => {
    const view = context.get("view");
    const query = readJobQuery(new URL(context.req.url).searchParams, view.messages.jobs.kind);
    const api = context.get("api");
    const [jobs, { regions }] = await Promise.all([
      read(api.GET("/jobs", { params: { query: jobListParameters(query, rowsOf(view.lists, "jobs")) } })),
      read(api.GET("/catalog")),
    ]);
    return context.html(renderPage(<JobListPage view={view} jobs={jobs} query={query} regions={regions} />));
  });

  // A part of every page, which polls it.
  routes.get("/activity", async (context) => {
    const session = sessionOf(context);
    const known = (context.req.query("known") ?? "").split(" ").filter((id) => /^job_[a-z0-9]{26}$/.test(id));
    // Empty when no job runs, rather than a text that says so.
    if (session.organisation === null || !may(session, "job:read")) return context.body(null, 204);
    const activity = await readActivity(context.get("api"), known.slice(0, mostKnown));
    if (activity === null) return context.body(null, 503);
    return context.html(<ActivityPart view={context.get("view")} activity={activity} />);
  });

  routes.get("/jobs/:id", async (context) => {
    const view = context.get("view");
    const id = context.req.param("id");
    const job = await read(context.get("api").GET("/jobs/{job_id}", { params: { path: { job_id: id } } }));
    const latest = jobStreams.latest(streamScope(sessionOf(context)), id);
    return context.html(
      renderPage(
        <JobPage
          view={view}
          job={latest ?? job}
          notice={noticeOf(context, view.messages.jobs.notices)}
          problem={null}
          idempotencyKey={crypto.randomUUID()}
        />,
      ),
    );
  });

  routes.get("/jobs/:id/events", async (context) => {
    const session = sessionOf(context);
    const id = context.req.param("id");
    const view = context.get("view");
    const api = context.get("api");
    // The API checks each browser's rights before it may share a stream that another browser opened.
    const me = await read(api.GET("/me"));
    if (!session.operator && me.organisation?.id !== session.organisation?.id) return context.notFound();
    // The page falls back to polling.
    if (context.req.method === "HEAD") return context.body(null, 200);
    const leave = places.take(session.user.email);
    if (leave === null) return context.body(null, 429, { "Retry-After": "5" });
    return streamSSE(context, async (stream) => {
      const stop = new AbortController();
      stream.onAbort(() => stop.abort());
      const ending = processStop?.ending;
      const end = () => stop.abort();
      ending?.addEventListener("abort", end);
      const limit = setTimeout(() => stop.abort(), streamMs);
      const heartbeat = setInterval(
        () => stream.write(": still here\n\n").catch(() => stop.abort()),
        heartbeatMs,
      );
      try {
        for await (const job of jobStreams.watch(streamScope(session), id, api, stop.signal)) {
          const data = String(<Timeline view={{ ...view, now: new Date() }} job={job} />);
          await stream.writeSSE({ data, retry: retryMs });
          if (job.done) {
            await stream.writeSSE({ event: "job-done", data: job.id });
            return;
          }
        }
        // The API gives no stream for this job. Ending at once would make the browser retry in a tight loop.
        if (!stop.signal.aborted) await stream.sleep(retryMs);
      } finally {
        leave();
        ending?.removeEventListener("abort", end);
        clearTimeout(limit);
        clearInterval(heartbeat);
      }
    });
  });

  for (const act of ["retry", "cancel"] as const)
    routes.post(`/jobs/:id/${act}`, async (context) => {
      const view = context.get("view");
      const api = context.get("api");
      const form = context.get("form");
      const options = {
        params: {
          path: { job_id: context.req.param("id") ?? "" },
          header: { "Idempotency-Key": form.get("idempotency_key") || crypto.randomUUID() },
        },
      };
      const outcome = await attempt(
        act === "retry"
          ? api.POST("/jobs/{job_id}/retry", options)
          : api.POST("/jobs/{job_id}/cancel", options),
      );
      if (outcome.kind === "done") {
        const back = safeReturnPath(form.get("return_to"), "/jobs").split("?")[0];
        return context.redirect(`${back}?notice=${act === "retry" ? "retried" : "cancelled"}`, 303);
      }
      const problem = conflictOf(outcome);
      const job = await read(api.GET("/jobs/{job_id}", { params: { path: options.params.path } }));
      return context.html(
        renderPage(
          <JobPage
            view={view}
            job={job}
            notice={null}
            problem={problemText(problem, view.messages)}
            idempotencyKey={crypto.randomUUID()}
          />,
        ),
        409,
      );
    });

  return routes;
}
