import type { Child } from "hono/jsx";
import { PageHead } from "../../layout/parts.tsx";
import { type ResourceKind, type ResourceTab, ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

export type TabbedResource = {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly name: string;
  readonly deletion?: unknown;
};

const sections = {
  servers: "servers",
  networks: "networks",
  firewalls: "firewalls",
  gateways: "networks",
  "public-ips": "publicIps",
} as const satisfies Record<ResourceKind, unknown>;

/** A tab of a resource that is a page of its own. */
export function ResourcePage(props: {
  readonly view: View;
  readonly resource: TabbedResource;
  readonly tab: ResourceTab;
  readonly children?: Child;
}) {
  const { view, resource, tab } = props;
  const { kind, name } = resource;
  const { messages } = view;
  // As on the resource's first page; servers are the first list themselves.
  const all = {
    servers: null,
    networks: messages.network.all,
    firewalls: messages.firewalls.all,
    gateways: messages.gateways.all,
    "public-ips": messages.publicIps.all,
  }[kind];
  const title = `${name} · ${messages.resourceTabs.tabs[tab]}`;
  return (
    <Shell view={view} title={title} section={sections[kind]}>
      {all === null ? null : (
        <p class="crumbs">
          <a href={`/${kind}`}>{all}</a>
        </p>
      )}
      <PageHead title={name} />
      <ResourceTabs view={view} kind={kind} resource={resource} current={tab} />
      <h2>{messages.resourceTabs.tabs[tab]}</h2>
      {props.children}
    </Shell>
  );
}
