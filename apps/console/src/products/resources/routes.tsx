import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { EmptyState, Pages } from "../../layout/parts.tsx";
import { hasTab, type ResourceKind, resourceKinds } from "../../layout/resource-tabs.tsx";
import { readAuditQuery } from "../audit/audit-query.ts";
import { AuditTable } from "../audit/audit-table.tsx";
import { JobTable } from "../jobs/list-page.tsx";
import { monthOf } from "../usage/month.ts";
import { SegmentTable } from "../usage/segments-page.tsx";
import { ResourcePage, type TabbedResource } from "./resource-page.tsx";

/** The tabs of a resource that show what other pages know of it: its jobs, its usage, what was done to it. */
export function resourceRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  for (const kind of resourceKinds) {
    if (hasTab(kind, "jobs")) routes.get(`/${kind}/:id/jobs`, (context) => showJobs(context, kind));
    if (hasTab(kind, "usage")) routes.get(`/${kind}/:id/usage`, (context) => showUsage(context, kind));
    if (hasTab(kind, "audit")) routes.get(`/${kind}/:id/audit`, (context) => showAudit(context, kind));
  }
  return routes;
}

async function showJobs(context: ConsoleContext, kind: ResourceKind) {
  const view = context.get("view");
  const { resource, page, cursor } = await tabOf(context, kind, "jobs");
  const limit = rowsOf(view.lists, "jobs");
  const asked = { resource: resource.id, limit, ...(cursor === undefined ? {} : { cursor }) };
  const jobs = await read(context.get("api").GET("/jobs", { params: { query: asked } }));
  const { messages } = view;
  return context.html(
    renderPage(
      <ResourcePage view={view} resource={resource} tab="jobs">
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
        <ApiCalls view={view} calls={[{ operation: "listJobs", query: { resource: resource.id } }]} />
      </ResourcePage>,
    ),
  );
}

async function showUsage(context: ConsoleContext, kind: ResourceKind) {
  const view = context.get("view");
  const { resource, page, cursor } = await tabOf(context, kind, "usage");
  const month = monthOf(context.req.query("month"), view.now);
  const window = { resource: resource.id, from: month.from, to: month.to };
  const limit = rowsOf(view.lists, "segments");
  const segments = await read(
    context.get("api").GET("/usage/segments", {
      params: { query: { ...window, limit, ...(cursor === undefined ? {} : { cursor }) } },
    }),
  );
  const { messages, format } = view;
  const ofMonth = new URLSearchParams({ month: month.id });
  const narrowed = new URLSearchParams({ month: month.id, resource: resource.id });
  return context.html(
    renderPage(
      <ResourcePage view={view} resource={resource} tab="usage">
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

async function showAudit(context: ConsoleContext, kind: ResourceKind) {
  const view = context.get("view");
  const { resource, page, cursor } = await tabOf(context, kind, "audit");
  const limit = rowsOf(view.lists, "audit");
  const asked = { resource: resource.id, limit, ...(cursor === undefined ? {} : { cursor }) };
  const entries = await read(context.get("api").GET("/audit", { params: { query: asked } }));
  const { audit } = view.messages;
  const query = readAuditQuery(new URLSearchParams({ resource: resource.id }));
  return context.html(
    renderPage(
      <ResourcePage view={view} resource={resource} tab="audit">
        <p class="hint">
          <a href={`/audit?${new URLSearchParams({ resource: resource.id })}`}>
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
        <ApiCalls view={view} calls={[{ operation: "listAudit", query: { resource: resource.id } }]} />
      </ResourcePage>,
    ),
  );
}

async function tabOf(context: ConsoleContext, kind: ResourceKind, tab: string) {
  const resource = await readResource(context, kind);
  return {
    resource: { ...resource, kind } satisfies TabbedResource,
    page: `/${kind}/${resource.id}/${tab}`,
    cursor: context.req.query("cursor") || undefined,
  };
}

/** @throws ApiRefused when the session sees no such resource */
async function readResource(
  context: ConsoleContext,
  kind: ResourceKind,
): Promise<Omit<TabbedResource, "kind">> {
  const api = context.get("api");
  const id = context.req.param("id") ?? "";
  switch (kind) {
    case "servers":
      return read(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } }));
    case "networks":
      return read(api.GET("/networks/{network_id}", { params: { path: { network_id: id } } }));
    case "firewalls":
      return read(api.GET("/firewalls/{firewall_id}", { params: { path: { firewall_id: id } } }));
    case "gateways":
      return read(api.GET("/gateways/{gateway_id}", { params: { path: { gateway_id: id } } }));
    case "public-ips": {
      const { address } = await read(
        api.GET("/public-ips/{public_ip_id}", { params: { path: { public_ip_id: id } } }),
      );
      return { id, name: address };
    }
  }
}
