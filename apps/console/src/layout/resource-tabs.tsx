import { may } from "../session.ts";
import type { View } from "./view.ts";

/** Kinds of resources whose pages have tabs, as their addresses call them. */
export const resourceKinds = ["servers", "networks", "firewalls", "gateways", "public-ips"] as const;
export type ResourceKind = (typeof resourceKinds)[number];
export type ResourceTab = "overview" | "network" | "console" | "jobs" | "usage" | "audit" | "danger";

/** Where each tab is: a page of its own, or a part of the resource's first page. */
const places: Readonly<Record<ResourceTab, { readonly place: string; readonly permission?: string }>> = {
  overview: { place: "" },
  network: { place: "#network" },
  console: { place: "#console-sessions" },
  jobs: { place: "/jobs", permission: "job:read" },
  usage: { place: "/usage", permission: "usage:read" },
  audit: { place: "/audit", permission: "audit:read" },
  danger: { place: "#danger" },
};

const tabsOf: Readonly<Record<ResourceKind, readonly ResourceTab[]>> = {
  servers: ["overview", "network", "console", "jobs", "usage", "audit", "danger"],
  networks: ["overview", "jobs", "audit", "danger"],
  firewalls: ["overview", "audit", "danger"],
  gateways: ["overview", "jobs", "audit", "danger"],
  "public-ips": ["overview", "jobs", "usage", "audit", "danger"],
};

/** Who may do nothing of what the danger zone has does not see it. */
const dangersOf: Readonly<Record<ResourceKind, readonly string[]>> = {
  servers: ["server:update", "server:delete"],
  networks: ["network:delete"],
  firewalls: ["firewall:delete"],
  gateways: ["gateway:delete"],
  "public-ips": ["public_ip:delete"],
};

/** Whether resources of the kind have the tab. */
export function hasTab(kind: ResourceKind, tab: ResourceTab): boolean {
  return tabsOf[kind].includes(tab);
}

/** What there is to see of one resource, the same on each of its pages; what a role may not read is not there. */
export function ResourceTabs(props: {
  readonly view: View;
  readonly kind: ResourceKind;
  readonly resource: { readonly id: string; readonly name: string; readonly deletion?: unknown };
  readonly current: ResourceTab;
}) {
  const { view, kind, resource, current } = props;
  const { session, messages } = view;
  const page = `/${kind}/${resource.id}`;
  // What is on its way out has its way back above everything, and nothing else to lose.
  const isLeaving = resource.deletion !== undefined && resource.deletion !== null;
  const tabs = tabsOf[kind].filter((tab) => {
    const { permission } = places[tab];
    if (session === null) return permission === undefined;
    if (tab === "danger") return !isLeaving && dangersOf[kind].some((each) => may(session, each));
    return permission === undefined || may(session, permission);
  });
  return (
    <nav class="tabs" aria-label={messages.resourceTabs.label(resource.name)}>
      {tabs.map((tab) => (
        <a href={`${page}${places[tab].place}`} aria-current={tab === current ? "page" : undefined}>
          {messages.resourceTabs.tabs[tab]}
        </a>
      ))}
    </nav>
  );
}
