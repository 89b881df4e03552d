import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { ApiAway, ApiRefused, attempt, conflictOf, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import type { View } from "../../layout/view.ts";
import { fieldProblems, problemText } from "../../problem-messages.ts";
import { EventsPage } from "./list-events-page.tsx";
import { eventKinds, readUsageQuery, segmentKinds, usageRequestParameters } from "./list-query.ts";
import { SegmentsPage } from "./list-segments-page.tsx";
import { monthOf } from "./month.ts";
import { UsagePage } from "./show-page.tsx";

const exportFilters = ["of", "from", "to", "resource", "region", "label_selector"] as const;

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
    const asked = auditRequest(context, "segments", segmentKinds);
    const { view, query, window } = asked;
    const [outcome, regions] = await Promise.all([
      attempt(
        context
          .get("api")
          .GET("/usage/segments", { params: { query: { ...window, ...usageRequestParameters(query) } } }),
      ),
      regionsOf(context),
    ]);
    const { list, problems, status } = shownOf(outcome, view);
    return context.html(
      renderPage(<SegmentsPage {...asked} regions={regions} segments={list} problems={problems} />),
      status,
    );
  });

  routes.get("/usage/events", async (context) => {
    const asked = auditRequest(context, "events", eventKinds);
    const { view, query, window } = asked;
    const [outcome, regions] = await Promise.all([
      attempt(
        context
          .get("api")
          .GET("/usage", { params: { query: { ...window, ...usageRequestParameters(query) } } }),
      ),
      regionsOf(context),
    ]);
    const { list, problems, status } = shownOf(outcome, view);
    return context.html(
      renderPage(<EventsPage {...asked} regions={regions} events={list} problems={problems} />),
      status,
    );
  });

  routes.get("/usage/export.csv", (context) => passOn(context, "csv"));
  routes.get("/usage/export.ndjson", (context) => passOn(context, "ndjson"));
  return routes;
}

/** The filters and month of a page of segments or events. */
function auditRequest<Kind extends string>(
  context: ConsoleContext,
  list: "segments" | "events",
  kinds: readonly Kind[],
) {
  const view = context.get("view");
  const address = new URL(context.req.url).searchParams;
  const month = monthOf(address.get("month") ?? undefined, view.now);
  const cursor = address.get("cursor") || undefined;
  const window = {
    limit: rowsOf(view.lists, list),
    from: month.from,
    to: month.to,
    ...(cursor === undefined ? {} : { cursor }),
  };
  return { view, month, query: readUsageQuery(address, kinds), cursor, window };
}

async function regionsOf(context: ConsoleContext): Promise<readonly Schemas["CatalogRegion"][]> {
  return (await read(context.get("api").GET("/catalog"))).regions;
}

type Page<Item> = { readonly items: Item[]; readonly next_cursor: string | null };

const filters = ["resource", "region", "label_selector"] as const;

/**
 * The list; empty, with the wrong filters, if the API refuses one of them.
 *
 * @throws ApiAway, ApiRefused
 */
function shownOf<Item>(outcome: Outcome<Page<Item>>, { messages }: View) {
  if (outcome.kind === "done") return { list: outcome.data, problems: noProblems, status: 200 } as const;
  const problem = conflictOf(outcome);
  const { fields } = fieldProblems(
    problem,
    messages,
    (pointer) => filters.find((name) => pointer.endsWith(name)) ?? null,
  );
  if (Object.keys(fields).length === 0) throw new ApiRefused(problem);
  // The API's own words address the author of a query; the hint explains the format.
  const hint = fields.label_selector === undefined ? {} : { label_selector: [messages.labels.filterHint] };
  const list: Page<Item> = { items: [], next_cursor: null };
  return { list, problems: { ...fields, ...hint }, status: 422 } as const;
}

/** Passes on the API's stream: the browser has no token of its own. */
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
