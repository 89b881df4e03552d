import { EmptyState, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { Found } from "./find.ts";
import type { Place } from "./places.ts";

type Props = {
  readonly view: View;
  readonly text: string;
  readonly pages: readonly Place[];
  readonly acts: readonly Place[];
  readonly found: readonly Found[];
  readonly isPartial: boolean;
};

/** The page of the palette without a script, whose results the palette shows. */
export function SearchPage(props: Props) {
  const { view, text } = props;
  const { search } = view.messages;
  return (
    <Shell view={view} title={search.title}>
      <PageHead title={search.title} lead={search.hint} />
      <form
        class="filters"
        method="get"
        action="/search"
        hx-get="/search"
        hx-trigger="input changed delay:150ms, submit"
        hx-sync="this:replace"
        hx-target="#search-results"
        hx-swap="outerHTML"
        hx-replace-url="true"
      >
        <label class="search-field">
          <span class="visually-hidden">{search.label}</span>
          <input
            type="search"
            name="q"
            value={text}
            placeholder={search.placeholder}
            autocomplete="off"
            spellcheck={false}
            autofocus
          />
        </label>
        <button type="submit" class="button without-script">
          {view.messages.common.search}
        </button>
      </form>
      <SearchResults {...props} />
    </Shell>
  );
}

/** The results by kind, for the page's list and the palette. */
export function SearchResults({ view, text, pages, acts, found, isPartial }: Props) {
  const { messages } = view;
  const { search } = messages;
  const count = pages.length + acts.length + found.length;
  return (
    <div id="search-results" class="search-results">
      <p class="visually-hidden" role="status">
        {search.found(count)}
      </p>
      {isPartial ? <p class="hint">{search.away}</p> : null}
      {count === 0 && !isPartial ? <EmptyState title={search.none(text)} hint={search.noneHint} /> : null}
      {found.length === 0 ? null : (
        <ul class="search-list">
          {found.map(({ kind, name, detail, path }) => (
            <li>
              <a href={path}>
                <span class="search-kind">{search.kinds[kind]}</span>
                <strong>{name}</strong>
                <span class="search-detail mono">
                  {kind === "job" ? (messages.jobs.kind[detail] ?? detail) : detail}
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
      <Places title={search.acts} places={acts} />
      <Places title={search.pages} places={pages} />
    </div>
  );
}

function Places({ title, places }: { readonly title: string; readonly places: readonly Place[] }) {
  if (places.length === 0) return null;
  return (
    <section>
      <h2 class="search-heading">{title}</h2>
      <ul class="search-list">
        {places.map(({ title: name, path, key }) => (
          <li>
            <a href={path}>
              <span>{name}</span>
              {key === undefined ? null : (
                <span class="search-detail" aria-hidden="true">
                  <kbd>g</kbd> <kbd>{key}</kbd>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
