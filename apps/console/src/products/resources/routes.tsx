import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { EmptyState, Pages } from "../../layout/parts.tsx";
import { readItem } from "../../resources/call-operation.ts";
import { tabbedResources } from "../../resources/panel-resources.ts";
import { type AnyItem, pageOf, pageRoute, type Resource } from "../../resources/resource.ts";
import { readAuditQuery } from "../audit/list-query.ts";
import { AuditTable } from "../audit/list-table.tsx";
import { JobTable } from "../jobs/list-page.tsx";
import { SegmentTable } from "../usage/list-segments-page.tsx";
import { monthOf } from "../usage/month.ts";
import { ResourcePage } from "./show-tab-page.tsx";

/** The tabs of a resource that show data of other pages: its jobs, its usage, its audit trail. */
export function resourceRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  const pages = { jobs: showJobs, usage: showUsage, audit: showAudit } as const;
  for (const resource of tabbedResources)
    for (const tab of ["jobs", "usage", "audit"] as const)
      if (resource.tabs?.all.includes(tab))
        routes.get(`${pageRoute(resource)}/${tab}`, (context) => pages[tab](context, resource));
  return routes;
}

async function showJobs(context: ConsoleContext, resource: Resource<AnyItem>) {
  const view = context.get("view");
  const { item, page, cursor } = await tabOf(context, resource, "jobs");
  const limit = rowsOf(view.lists, "jobs");
  const asked = { resource: item.id, limit, ...(cursor === undefined ? {} : { cursor }) };
  const jobs = await read(context.get("api").GET("/jobs", { params: { query: asked } }));
  const { messages } = view;
  return context.html(
    renderPage(
      <ResourcePage view={view} resource={resource} item={item} tab="jobs">
        <section
          id="job-list"
          class="stack"
          aria-label={messages.jobs.title}
          data-poll=""
          hx-get={cursor === undefined ? page : `${page}?${new URLSearchParams({ cursor })}`}
          hx-trigger="every 5s, refresh"
          hx-select="#job-list"
          hx-swap="outerMorph"
        >
          {jobs.items.length === 0 ? (
            <EmptyState title={messages.jobs.empty} hint={messages.jobs.emptyHint} />
          ) : (
            <JobTable view={view} jobs={jobs.items} />
          )}
          <Pages
            view={view}
            base={page}
            query={new URLSearchParams()}
            cursor={cursor}
            next={jobs.next_cursor}
          />
        </section>
        <ApiCalls view={view} calls={[{ operation: "listJobs", query: { resource: item.id } }]} />
      </ResourcePage>,
    ),
  );
}

async function showUsage(context: ConsoleContext, resource: Resource<AnyItem>) {
  const view = context.get("view");
  const { item, page, cursor } = await tabOf(context, resource, "usage");
  const month = monthOf(context.req.query("month"), view.now);
  const window = { resource: item.id, from: month.from, to: month.to };
  const limit = rowsOf(view.lists, "segments");
  const segments = await read(
    context.get("api").GET("/usage/segments", {
      params: { query: { ...window, limit, ...(cursor === undefined ? {} : { cursor }) } },
    }),
  );
  const { messages, format } = view;
  const ofMonth = new URLSearchParams({ month: month.id });
  const narrowed = new URLSearchParams({ month: month.id, resource: item.id });
  return context.html(
    renderPage(
      <ResourcePage view={view} resource={resource} item={item} tab="usage">
        <p class="hint">
          {format.month(month.from)} ·{" "}
          <a href={`/usage/segments?${narrowed}`}>{messages.resourceTabs.moreUsage}</a>
        </p>
        {segments.items.length === 0 ? (
          <EmptyState title={messages.segments.empty} hint={messages.segments.emptyHint} />
        ) : (
          <SegmentTable view={view} month={month} segments={segments} />
        )}
        <Pages view={view} base={page} query={ofMonth} cursor={cursor} next={segments.next_cursor} />
        <ApiCalls view={view} calls={[{ operation: "listUsageSegments", query: window }]} />
      </ResourcePage>,
    ),
  );
}

async function showAudit(context: ConsoleContext, resource: Resource<AnyItem>) {
  const view = context.get("view");
  const { item, page, cursor } = await tabOf(context, resource, "audit");
  const limit = rowsOf(view.lists, "audit");
  const asked = { resource: item.id, limit, ...(cursor === undefined ? {} : { cursor }) };
  const entries = await read(context.get("api").GET("/audit", { params: { query: asked } }));
  const { audit } = view.messages;
  const query = readAuditQuery(new URLSearchParams({ resource: item.id }));
  return context.html(
    renderPage(
      <ResourcePage view={view} resource={resource} item={item} tab="audit">
        <p class="hint">
          <a href={`/audit?${new URLSearchParams({ resource: item.id })}`}>
            {view.messages.resourceTabs.moreAudit}
          </a>
        </p>
        {entries.items.length === 0 ? (
          <EmptyState title={audit.none} hint={audit.noneHint} />
        ) : (
          <AuditTable
            view={view}
            entries={entries.items}
            query={query}
            base="/audit"
            showsOrganisation={false}
          />
        )}
        <Pages
          view={view}
          base={page}
          query={new URLSearchParams()}
          cursor={cursor}
          next={entries.next_cursor}
        />
        <ApiCalls view={view} calls={[{ operation: "listAudit", query: { resource: item.id } }]} />
      </ResourcePage>,
    ),
  );
}

/** @throws ApiRefused when the session sees no such resource */
async function tabOf(context: ConsoleContext, resource: Resource<AnyItem>, tab: string) {
  const path = context.req.param() as Readonly<Record<string, string>>;
  const item = await readItem(context.get("api"), resource, path);
  return {
    item,
    page: `${pageOf(resource, item)}/${tab}`,
    cursor: context.req.query("cursor") || undefined,
  };
}
