import type { Child } from "hono/jsx";
import type { ListQuery } from "../layout/list-query.ts";
import { NarrowedList } from "../layout/narrowed-list.tsx";
import { PageNotice } from "../layout/page-notice.tsx";
import { PageHead, ToForm } from "../layout/parts.tsx";
import { Shell } from "../layout/shell.tsx";
import type { View } from "../layout/view.ts";
import type { PageBanner } from "../page-banner.ts";
import type { SelectedKind } from "../products/selected/kind.ts";
import { SelectionBar } from "../products/selected/selection-part.tsx";
import { type AnyItem, type ListedResource, listPath } from "./resource.ts";

/** The id of the heading of every create form, to which the head and an empty list link. */
export const createHeading = "create-title";

/** The page of a resource's list: the frame around the table and the create form, which are the product's own. */
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
  /** Above the head: a link back, or the tabs of a section. */
  readonly above?: Child;
  /** In the head; the link to the create form unless the page sets another. */
  readonly head?: Child;
  /** The list itself. */
  readonly children: Child;
  /** Below the list: the create form and the calls. */
  readonly below: Child;
}) {
  const { view, resource, found, banner, selected, mayCreate } = props;
  const { element, filters, sorts, isLive = false, texts } = resource.listed;
  const text = texts(view.messages);
  const toForm = mayCreate ? <ToForm form={createHeading}>{text.create}</ToForm> : null;
  return (
    <Shell view={view} title={text.title} section={resource.section}>
      {props.above}
      <PageHead title={text.title} lead={text.lead}>
        {props.head === undefined ? toForm : props.head}
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
          begin: mayCreate ? { form: createHeading, text: text.create } : null,
        }}
        found={found}
        options={props.options}
        isLive={isLive}
      >
        {props.children}
      </NarrowedList>
      {selected === undefined ? null : <SelectionBar view={view} kind={selected} items={found.items} />}
      {props.below}
    </Shell>
  );
}
