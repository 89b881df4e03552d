import type { Child } from "hono/jsx";
import type { CalledOperation } from "../api-operation.ts";
import type { PagePart } from "../assets.ts";
import { ApiDrawer } from "../layout/api-call-part.tsx";
import type { Crumb } from "../layout/crumbs-part.tsx";
import { PageNotice } from "../layout/page-notice.tsx";
import { CopyButton } from "../layout/parts.tsx";
import { isFirstTab, ResourceTabs, tabPath } from "../layout/resource-tabs.tsx";
import { Shell } from "../layout/shell.tsx";
import type { View } from "../layout/view.ts";
import type { PageBanner } from "../page-banner.ts";
import { type AnyItem, listCrumbs, pageOf, type Resource, type ResourceTab } from "./resource.ts";

/** What the header of a resource shows beside its name, the same on each of its tabs. */
export type ResourceHead = {
  readonly status?: Child;
  /** What and where it is, in one line. */
  readonly lead?: string;
  /** The texts that people copy most: its main address, the command that opens a shell on it. */
  readonly copied?: readonly { readonly id: string; readonly label: string; readonly text: string }[];
  /** Its most common actions, and the calls of the same. */
  readonly acts?: Child;
  readonly calls: readonly CalledOperation[];
};

/** A resource with its header. */
export type HeadedResource<Item extends AnyItem> = {
  readonly resource: Resource<Item>;
  /** @param idempotencyKey the beginning of the keys of the header's forms */
  headOf(view: View, item: Item, idempotencyKey: string): ResourceHead;
};

/** A tab of a resource: the header that all its tabs share, and the tab's own content. */
export function ResourcePage<Item extends AnyItem>(props: {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  readonly head: ResourceHead;
  readonly tab: ResourceTab;
  readonly banner: PageBanner;
  /** The calls of the tab beside those of the header. */
  readonly calls: readonly CalledOperation[];
  /** The pages above it; its list, and what is above that, unless set. */
  readonly parents?: readonly Crumb[];
  readonly needs?: readonly PagePart[];
  /** Shown once, above everything: a secret. */
  readonly once?: Child;
  /** How header and content refresh by themselves, in seconds; left out for a tab that does not change. */
  readonly live?: {
    readonly seconds: number;
    /** The query of this page. */
    readonly query?: URLSearchParams;
    /** Where the page leads when the resource is gone. */
    readonly gone: string;
    /** Whether the end of a job that the page follows refreshes it at once. */
    readonly followsJob?: true;
  };
  readonly children?: Child;
  /** Content that does not refresh, below the other. */
  readonly still?: Child;
}) {
  const { view, resource, item, head, tab, live, calls } = props;
  const { messages } = view;
  const name = resource.nameOf(item);
  const tabName = messages.resourceTabs.tabs[tab];
  const isFirst = isFirstTab(tab);
  const above = props.parents ?? listCrumbs(resource, messages);
  return (
    <Shell
      view={view}
      title={isFirst ? name : `${name} · ${tabName}`}
      section={resource.section}
      needs={props.needs ?? []}
      crumbs={isFirst ? above : [...above, { path: pageOf(resource, item), text: name }]}
      here={isFirst ? name : tabName}
    >
      {props.once}
      {/* Not in the part that refreshes: its address has no notice. */}
      <PageNotice banner={props.banner} />
      <div
        id="resource-live"
        class="stack"
        {...(live === undefined ? {} : liveAttributes(tabPath(resource, item, tab), live))}
      >
        <ResourceHeader view={view} name={name} head={head} calls={calls} />
        <ResourceTabs view={view} resource={resource} item={item} current={tab} />
        {props.children}
      </div>
      {props.still}
    </Shell>
  );
}

type Live = NonNullable<Parameters<typeof ResourcePage>[0]["live"]>;

function liveAttributes(path: string, { seconds, query, gone, followsJob }: Live) {
  return {
    "data-poll": "",
    "data-gone": gone,
    "hx-get": query === undefined || query.size === 0 ? path : `${path}?${query}`,
    "hx-trigger": `every ${seconds}s, refresh${followsJob === true ? ", job-done from:body" : ""}`,
    "hx-select": "#resource-live",
    "hx-swap": "outerMorph",
  };
}

function ResourceHeader(props: {
  readonly view: View;
  readonly name: string;
  readonly head: ResourceHead;
  readonly calls: readonly CalledOperation[];
}) {
  const { view, name, head, calls } = props;
  const { status, lead, copied = [], acts } = head;
  return (
    <div class="page-head resource-head">
      <div>
        <div class="title-line">
          <h1>{name}</h1>
          {status}
        </div>
        {lead === undefined ? null : <p class="lead">{lead}</p>}
        {copied.length === 0 ? null : (
          <p class="head-copied">
            {copied.map(({ id, label, text }) => (
              <span class="copyable">
                <span class="visually-hidden">{label}: </span>
                <code id={id} title={label}>
                  {text}
                </code>
                <CopyButton view={view} source={id} />
              </span>
            ))}
          </p>
        )}
      </div>
      <div class="page-acts">
        {acts}
        <ApiDrawer view={view} calls={[...head.calls, ...calls]} />
      </div>
    </div>
  );
}
