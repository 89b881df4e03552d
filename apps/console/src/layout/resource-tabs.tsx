import { type AnyItem, pageOf, type Resource, type ResourceTab } from "../resources/resource.ts";
import { may } from "../session.ts";
import type { View } from "./view.ts";

/** The page of each tab below the resource's own, and the permission that it requires. */
const pages: Readonly<Record<ResourceTab, { readonly path: string; readonly permission?: string }>> = {
  overview: { path: "" },
  // The first page of a domain.
  records: { path: "" },
  import: { path: "/import", permission: "domain_record:update" },
  delegation: { path: "/delegation" },
  dnssec: { path: "/dnssec" },
  network: { path: "/network" },
  // The console itself is a window of its own, at `/console`.
  console: { path: "/console-sessions" },
  jobs: { path: "/jobs", permission: "job:read" },
  usage: { path: "/usage", permission: "usage:read" },
  audit: { path: "/audit", permission: "audit:read" },
  settings: { path: "/settings" },
};

/** Whether a tab is the resource's own page, which the others are below. */
export function isFirstTab(tab: ResourceTab): boolean {
  return pages[tab].path === "";
}

/** The address of a tab. */
export function tabPath<Item extends AnyItem>(
  resource: Resource<Item>,
  item: Item,
  tab: ResourceTab,
): string {
  return `${pageOf(resource, item)}${pages[tab].path}`;
}

/** The tabs of one resource, the same on each of its pages; tabs that a role may not read are absent. */
export function ResourceTabs<Item extends AnyItem>(props: {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  readonly current: ResourceTab;
}) {
  const { view, resource, item, current } = props;
  const { session, messages } = view;
  const { all = [], settings = [] } = resource.tabs ?? {};
  const tabs = all.filter((tab) => {
    const { permission } = pages[tab];
    if (session === null) return permission === undefined;
    // A role that may change nothing has no settings.
    if (tab === "settings") return settings.some((each) => may(session, each));
    return permission === undefined || may(session, permission);
  });
  return (
    <nav class="tabs" aria-label={messages.resourceTabs.label(resource.nameOf(item))}>
      {tabs.map((tab) => (
        <a href={tabPath(resource, item, tab)} aria-current={tab === current ? "page" : undefined}>
          {messages.resourceTabs.tabs[tab]}
        </a>
      ))}
    </nav>
  );
}
