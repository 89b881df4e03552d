import type { Child } from "hono/jsx";
import { PageHead } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { type AnyItem, listPath, type Resource, type ResourceTab } from "../../resources/resource.ts";

/** A tab of a resource that is a page of its own. */
export function ResourcePage<Item extends AnyItem>(props: {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  readonly tab: ResourceTab;
  readonly children?: Child;
}) {
  const { view, resource, item, tab } = props;
  const { messages } = view;
  const name = resource.nameOf(item);
  const { all } = resource.texts(messages);
  const title = `${name} · ${messages.resourceTabs.tabs[tab]}`;
  return (
    <Shell view={view} title={title} section={resource.section}>
      {all === null ? null : (
        <p class="crumbs">
          <a href={listPath(resource)}>{all}</a>
        </p>
      )}
      <PageHead title={name} />
      <ResourceTabs view={view} resource={resource} item={item} current={tab} />
      <h2>{messages.resourceTabs.tabs[tab]}</h2>
      {props.children}
    </Shell>
  );
}
