import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { EmptyState, Pages } from "../../layout/parts.tsx";
import { readItem } from "../../resources/call-operation.ts";
import { type AnyItem, listPath, pageOf, pageRoute } from "../../resources/resource.ts";
import { type HeadedResource, ResourcePage } from "../../resources/resource-page.tsx";
import { readAuditQuery } from "../audit/list-query.ts";
import { AuditTable } from "../audit/list-table.tsx";
import { JobTable } from "../jobs/list-page.tsx";
import { SegmentTable } from "../usage/list-segments-page.tsx";
import { monthOf } from "../usage/month.ts";
import { headedResources } from "./headed-resources.ts";

/** The tabs of a resource that show data of other pages: its jobs, its usage, its audit trail. */
export function resourceRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  const pages = { jobs: showJobs, usage: showUsage, audit: showAudit } as const;
  for (const headed of headedResources)
    for (const tab of ["jobs", "usage", "audit"] as const)
      if (headed.resource.tabs?.all.includes(tab))
        routes.get(`${pageRoute(headed.resource)}/${tab}`, (context) => pages[tab](context, headed));
  return routes;
}

async function showJobs(context: ConsoleContext, headed: HeadedResource<AnyItem>) {
  const view = context.get("view");
  const { item, page, cursor, frame } = await tabOf(context, headed, "jobs");
  const limit = rowsOf(view.lists, "jobs");
  const asked = { resource: item.id, limit, ...(cursor === undefined ? {} : { cursor }) };
  const jobs = await read(context.get("api").GET("/jobs", { params: { query: asked } }));
  const { messages } = view;
  return context.html(
    renderPage(
      <ResourcePage
        {...frame}
        tab="jobs"
        live={{
          seconds: 5,
          query: new URLSearchParams(cursor === undefined ? {} : { cursor }),
          gone: listPath(headed.resource),
        }}
        calls={[{ operation: "listJobs", query: { resource: item.id } }]}
      >
        <section id="job-list" class="stack" aria-label={messages.jobs.title}>
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
      </ResourcePage>,
    ),
  );
}

async function showUsage(context: ConsoleContext, headed: HeadedResource<AnyItem>) {
  const view = context.get("view");
  const { item, page, cursor, frame } = await tabOf(context, headed, "usage");
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
      <ResourcePage {...frame} tab="usage" calls={[{ operation: "listUsageSegments", query: window }]}>
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
      </ResourcePage>,
    ),
  );
}

async function showAudit(context: ConsoleContext, headed: HeadedResource<AnyItem>) {
  const view = context.get("view");
  const { item, page, cursor, frame } = await tabOf(context, headed, "audit");
  const limit = rowsOf(view.lists, "audit");
  const asked = { resource: item.id, limit, ...(cursor === undefined ? {} : { cursor }) };
  const entries = await read(context.get("api").GET("/audit", { params: { query: asked } }));
  const { audit } = view.messages;
  const query = readAuditQuery(new URLSearchParams({ resource: item.id }));
  return context.html(
    renderPage(
      <ResourcePage {...frame} tab="audit" calls={[{ operation: "listAudit", query: { resource: item.id } }]}>
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
      </ResourcePage>,
    ),
  );
}

/**
 * The resource in the address, and what its tabs have in common.
 *
 * @throws ApiRefused when the session sees no such resource
 */
async function tabOf(context: ConsoleContext, headed: HeadedResource<AnyItem>, tab: string) {
  const { resource } = headed;
  const view = context.get("view");
  const path = context.req.param() as Readonly<Record<string, string>>;
  const item = await readItem(context.get("api"), resource, path);
  const head = headed.headOf(view, item, crypto.randomUUID());
  return {
    item,
    page: `${pageOf(resource, item)}/${tab}`,
    cursor: context.req.query("cursor") || undefined,
    frame: { view, resource, item, head, banner: null },
  };
}
