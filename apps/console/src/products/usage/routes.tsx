import { Hono } from "hono";
import { ApiAway, attempt, conflictOf, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { problemText } from "../../problem-messages.ts";
import { monthOf } from "./month.ts";
import { readSegmentQuery } from "./segment-query.ts";
import { SegmentsPage } from "./segments-page.tsx";
import { UsagePage } from "./usage-page.tsx";

const exportFilters = ["from", "to", "resource", "label_selector"] as const;

export function usageRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/usage", async (context) => {
    const view = context.get("view");
    const api = context.get("api");
    const month = monthOf(context.req.query("month"), view.now);
    const cursor = context.req.query("cursor") || undefined;
    const window = { from: month.from, to: month.to };
    const [byResource, byDay, byPackage, quotas] = await Promise.all([
      read(
        api.GET("/usage/summary", {
          params: { query: { ...window, group_by: "resource", ...(cursor === undefined ? {} : { cursor }) } },
        }),
      ),
      read(api.GET("/usage/summary", { params: { query: { ...window, group_by: "day", limit: 31 } } })),
      read(api.GET("/usage/summary", { params: { query: { ...window, group_by: "package", limit: 50 } } })),
      read(api.GET("/quotas")),
    ]);
    return context.html(
      renderPage(
        <UsagePage
          view={view}
          month={month}
          byResource={byResource}
          byDay={byDay}
          byPackage={byPackage}
          quotas={quotas}
          cursor={cursor}
        />,
      ),
    );
  });

  routes.get("/usage/segments", async (context) => {
    const view = context.get("view");
    const address = new URL(context.req.url).searchParams;
    const month = monthOf(address.get("month") ?? undefined, view.now);
    const cursor = address.get("cursor") || undefined;
    const query = readSegmentQuery(address);
    const { kind, ...narrowed } = query;
    const outcome = await attempt(
      context.get("api").GET("/usage/segments", {
        params: {
          query: {
            limit: 50,
            from: month.from,
            to: month.to,
            ...Object.fromEntries(Object.entries(narrowed).filter(([, value]) => value !== "")),
            ...(kind === "" ? {} : { kind: [kind] }),
            ...(cursor === undefined ? {} : { cursor }),
          },
        },
      }),
    );
    const wrong = outcome.kind === "done" ? null : conflictOf(outcome);
    // The API's own words would be for somebody who wrote the query; the hint says how it is written.
    const problems = wrong === null ? noProblems : { label_selector: [view.messages.labels.filterHint] };
    return context.html(
      renderPage(
        <SegmentsPage
          view={view}
          month={month}
          query={query}
          segments={outcome.kind === "done" ? outcome.data : { items: [], next_cursor: null }}
          problems={problems}
          cursor={cursor}
        />,
      ),
      wrong === null ? 200 : 422,
    );
  });

  routes.get("/usage/export.csv", (context) => passOn(context, "csv"));
  routes.get("/usage/export.ndjson", (context) => passOn(context, "ndjson"));
  return routes;
}

/** The API's stream, as it comes: the browser has no token of its own. */
async function passOn(context: ConsoleContext, format: "csv" | "ndjson"): Promise<Response> {
  const asked = context.req.query();
  const query = Object.fromEntries(
    exportFilters.flatMap((name) => (asked[name] ? [[name, asked[name]]] : [])),
  );
  const options = { params: { query }, parseAs: "stream", signal: context.req.raw.signal } as const;
  const api = context.get("api");
  const call =
    format === "csv" ? api.GET("/usage/export.csv", options) : api.GET("/usage/export.ndjson", options);
  const outcome = await attempt(call);
  if (outcome.kind === "away") throw new ApiAway("the API does not answer", outcome.requestId);
  if (outcome.kind === "refused")
    return context.text(problemText(conflictOf(outcome), context.get("view").messages), 422);
  return new Response(outcome.data as ReadableStream<Uint8Array>, {
    headers: {
      "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
      "Content-Disposition": `attachment; filename="usage.${format}"`,
      "Cache-Control": "no-store",
    },
  });
}
