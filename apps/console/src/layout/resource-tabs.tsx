import { type AnyItem, pageOf, type Resource, type ResourceTab } from "../resources/resource.ts";
import { may } from "../session.ts";
import type { View } from "./view.ts";

/** The target of each tab: a page of its own, or a part of the resource's first page. */
const places: Readonly<Record<ResourceTab, { readonly place: string; readonly permission?: string }>> = {
  overview: { place: "" },
  network: { place: "#network" },
  console: { place: "#console-sessions" },
  jobs: { place: "/jobs", permission: "job:read" },
  usage: { place: "/usage", permission: "usage:read" },
  audit: { place: "/audit", permission: "audit:read" },
  danger: { place: "#danger" },
};

/** The tabs of one resource, the same on each of its pages; tabs that a role may not read are absent. */
export function ResourceTabs<Item extends AnyItem>(props: {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  readonly current: ResourceTab;
}) {
  const { view, resource, item, current } = props;
  const { session, messages } = view;
  const page = pageOf(resource, item);
  const { all = [], danger = [] } = resource.tabs ?? {};
  // A resource that is being deleted shows the cancellation above everything, and has no danger zone.
  const isLeaving = "deletion" in item && item.deletion !== null;
  const tabs = all.filter((tab) => {
    const { permission } = places[tab];
    if (session === null) return permission === undefined;
    // A role that may do nothing in the danger zone does not see it.
    if (tab === "danger") return !isLeaving && danger.some((each) => may(session, each));
    return permission === undefined || may(session, permission);
  });
  return (
    <nav class="tabs" aria-label={messages.resourceTabs.label(resource.nameOf(item))}>
      {tabs.map((tab) => (
        <a href={`${page}${places[tab].place}`} aria-current={tab === current ? "page" : undefined}>
          {messages.resourceTabs.tabs[tab]}
        </a>
      ))}
    </nav>
  );
}
