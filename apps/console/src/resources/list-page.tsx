import type { Child } from "hono/jsx";
import type { CalledOperation } from "../api-operation.ts";
import { ApiDrawer } from "../layout/api-call-part.tsx";
import { isNarrowed, type ListQuery } from "../layout/list-query.ts";
import { NarrowedList } from "../layout/narrowed-list.tsx";
import { PageNotice } from "../layout/page-notice.tsx";
import { CreateLink, PageHead } from "../layout/parts.tsx";
import { Shell } from "../layout/shell.tsx";
import type { View } from "../layout/view.ts";
import type { PageBanner } from "../page-banner.ts";
import type { SelectedKind } from "../products/selected/kind.ts";
import { SelectionBar } from "../products/selected/selection-part.tsx";
import { type AnyItem, createPath, type ListedResource, listPath } from "./resource.ts";

/** The page of a resource's list: the frame around the table, which is the product's own. */
export function ResourceListPage<Item extends AnyItem, Act extends string = never>(props: {
  readonly view: View;
  readonly resource: ListedResource<Item>;
  readonly found: { readonly items: readonly Item[]; readonly next_cursor: string | null };
  readonly query: ListQuery;
  readonly regions?: readonly { readonly slug: string; readonly name: string }[];
  /** The error of the label selector. */
  readonly selectorProblem?: string | null;
  readonly banner: PageBanner;
  /** The page size and the columns of the list. */
  readonly options: Child;
  /** The actions for several of them at once. */
  readonly selected?: SelectedKind<Item, Act>;
  readonly mayCreate: boolean;
  /** Above the head: the tabs of a section. */
  readonly above?: Child;
  /** The page's calls beside the list's own. */
  readonly calls?: readonly CalledOperation[];
  /** The list itself. */
  readonly children: Child;
}) {
  const { view, resource, found, banner, selected, mayCreate } = props;
  const { element, filters, sorts, isLive = false, parents, texts } = resource.listed;
  const text = texts(view.messages);
  const create = mayCreate ? { path: createPath(resource), text: text.create } : null;
  // An empty list has the button in its middle; a page has one primary button.
  const isEmpty = found.items.length === 0 && !isNarrowed(props.query) && props.query.cursor === undefined;
  return (
    <Shell
      view={view}
      title={text.title}
      section={resource.section}
      {...(parents === undefined ? {} : { crumbs: parents(view.messages) })}
    >
      {props.above}
      <PageHead
        title={text.title}
        lead={text.lead}
        api={
          <ApiDrawer view={view} calls={[{ operation: resource.operations.list }, ...(props.calls ?? [])]} />
        }
      >
        {create === null || isEmpty ? null : <CreateLink path={create.path}>{create.text}</CreateLink>}
      </PageHead>
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page={listPath(resource)}
        list={element}
        filters={filters}
        sorts={sorts}
        query={props.query}
        regions={props.regions ?? []}
        selectorProblem={props.selectorProblem ?? null}
        empty={{
          title: text.empty,
          hint: text.emptyHint,
          create,
        }}
        found={found}
        options={props.options}
        isLive={isLive}
      >
        {props.children}
      </NarrowedList>
      {selected === undefined ? null : <SelectionBar view={view} kind={selected} items={found.items} />}
    </Shell>
  );
}
