import type { Child } from "hono/jsx";
import { ListFilters, NothingMatches, SelectorProblem } from "./list-filters.tsx";
import { isNarrowed, type ListFilter, type ListQuery, type ListSort, listParameters } from "./list-query.ts";
import { CreateLink, EmptyState, Pages } from "./parts.tsx";
import type { View } from "./view.ts";

/** A product's list: its filters, its rows or the reason why there are none, and the link to the next page. */
export function NarrowedList(props: {
  readonly view: View;
  /** The list's address, and its id in the page. */
  readonly page: string;
  readonly list: string;
  readonly filters: readonly ListFilter[];
  readonly sorts: readonly ListSort[];
  readonly query: ListQuery;
  readonly regions: readonly { readonly slug: string; readonly name: string }[];
  /** The error of the label selector. */
  readonly selectorProblem?: string | null;
  /** Shown when there are no entries yet. */
  readonly empty: {
    readonly title: string;
    readonly hint: string;
    /** Where the first one is created; null for a role that may not create one. */
    readonly create: { readonly path: string; readonly text: string } | null;
  };
  readonly found: { readonly items: readonly unknown[]; readonly next_cursor: string | null };
  /** The page size and the columns of the list. */
  readonly options: Child;
  /** Whether its entries change by themselves, so that it polls. */
  readonly isLive?: boolean;
  readonly children: Child;
}) {
  const { view, page, list, query, found, empty } = props;
  const parameters = listParameters(query);
  const live = {
    "data-poll": "",
    "hx-get": parameters.size === 0 ? page : `${page}?${parameters}`,
    "hx-trigger": "every 8s, refresh",
    "hx-select": `#${list}`,
    "hx-swap": "outerMorph",
  };
  return (
    <>
      <ListFilters
        view={view}
        page={page}
        list={list}
        filters={props.filters}
        sorts={props.sorts}
        query={query}
        regions={props.regions}
        options={props.options}
      />
      <div id={list} class="stack" {...(props.isLive === true ? live : {})}>
        <SelectorProblem text={props.selectorProblem ?? null} />
        {found.items.length > 0 ? (
          props.children
        ) : isNarrowed(query) ? (
          <NothingMatches view={view} page={page} />
        ) : (
          <EmptyState title={empty.title} hint={empty.hint}>
            {empty.create === null ? null : (
              <CreateLink path={empty.create.path}>{empty.create.text}</CreateLink>
            )}
          </EmptyState>
        )}
        <Pages view={view} base={page} query={parameters} cursor={query.cursor} next={found.next_cursor} />
      </div>
    </>
  );
}
