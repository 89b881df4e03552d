import type { Child } from "hono/jsx";
import { Icon } from "./icons.tsx";
import type { ListFilter, ListQuery, ListSort } from "./list-query.ts";
import { EmptyState } from "./parts.tsx";
import type { View } from "./view.ts";

/** Filters and order of a list. With a script the list follows each change; without one there is a button. */
export function ListFilters(props: {
  readonly view: View;
  /** The address of the list, and the id of the part of the page that contains it. */
  readonly page: string;
  readonly list: string;
  readonly filters: readonly ListFilter[];
  readonly sorts: readonly ListSort[];
  readonly query: ListQuery;
  readonly regions: readonly { readonly slug: string; readonly name: string }[];
  /** The filters of this list only, between the region and the labels. */
  readonly children?: Child;
  /** How the list is shown. */
  readonly options: Child;
}) {
  const { view, page, list, filters, sorts, query, regions } = props;
  const { common, listFilters: text, labels } = view.messages;
  return (
    <search class="list-bar">
      <form
        class="filters"
        method="get"
        action={page}
        hx-get={page}
        hx-trigger="input delay:250ms, submit"
        hx-target={`#${list}`}
        hx-select={`#${list}`}
        hx-swap="outerMorph"
        hx-replace-url="true"
        hx-sync="this:replace"
      >
        {filters.some((filter) => filter === "name" || filter === "hostname" || filter === "address") ? (
          <label class="search">
            <span class="visually-hidden">{common.search}</span>
            <Icon name="search" size={17} />
            <input
              type="search"
              name="q"
              value={query.q}
              placeholder={filters.includes("address") ? text.addressPlaceholder : text.searchPlaceholder}
              maxlength={63}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
            />
          </label>
        ) : null}
        {filters.includes("region") ? (
          <label>
            <span class="visually-hidden">{common.region}</span>
            <select name="region">
              <option value="">{text.allRegions}</option>
              {regions.map(({ slug, name }) => (
                <option value={slug} selected={query.region === slug}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        {props.children}
        {filters.includes("labels") ? (
          <label class="selector">
            <span class="visually-hidden">{labels.title}</span>
            <Icon name="tag" size={17} />
            <input
              class="mono"
              type="text"
              name="labels"
              value={query.labels}
              placeholder="role=web,env!=test"
              maxlength={1000}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              title={labels.filterHint}
              aria-describedby="labels-problem"
            />
          </label>
        ) : null}
        <label>
          <span class="visually-hidden">{text.sortLabel}</span>
          <select name="sort">
            {sorts.map((sort) => (
              <option value={sort} selected={query.sort === sort}>
                {text.sort[sort]}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="button without-script">
          {common.apply}
        </button>
      </form>
      {props.options}
    </search>
  );
}

/** The error of the label selector; it is part of the list, which is rendered again with each change. */
export function SelectorProblem({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p class="problem" id="labels-problem" role="alert">
      {text}
    </p>
  );
}

/** Shown in place of a list when no entry matches the filters. */
export function NothingMatches({ view, page }: { readonly view: View; readonly page: string }) {
  const { listFilters: text } = view.messages;
  return (
    <EmptyState title={text.noMatch} hint={text.noMatchHint}>
      <a class="button" href={page}>
        {text.clear}
      </a>
    </EmptyState>
  );
}
