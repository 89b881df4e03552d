import { notAllowed } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EmptyState, Pages } from "../../layout/parts.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { EditRecord } from "./edit-record-form.tsx";
import { InPlaceLink } from "./in-place-part.tsx";
import type { RecordsProps } from "./props.ts";
import { recordFilters, recordsAddress, recordTypes } from "./record-query.ts";
import { RecordSelection } from "./record-selection-part.tsx";
import { RecordTable } from "./records-table.tsx";

/** The filters of the records, the table, and the form of the one that is added or edited. */
export function Records(props: RecordsProps & { readonly page: string }) {
  const { view, records, query, page, edited } = props;
  const text = view.messages.domains.record;
  const isFiltered = query.q !== "" || query.type !== "";
  const isListed = edited !== null && records.items.some((each) => isSame(each, edited));
  // One that was typed into the address, or that the filters hide, has no row to stand in.
  const isAbove = query.isAdding || (edited !== null && !isListed);
  return (
    <section id="records" class="stack" aria-label={text.title}>
      <RecordBar {...props} />
      {isAbove ? (
        <div class="panel">
          <EditRecord {...props} />
        </div>
      ) : null}
      <div id="record-list" class="stack">
        {records.items.length > 0 ? (
          <>
            <RecordTable {...props} />
            {disabledReason(view, props.domain, "change") === null ? <RecordSelection {...props} /> : null}
          </>
        ) : isFiltered ? (
          <EmptyState title={text.noMatch} hint={view.messages.listFilters.noMatchHint}>
            <a class="button" href={page}>
              {view.messages.listFilters.clear}
            </a>
          </EmptyState>
        ) : query.isAdding ? null : (
          <EmptyState title={text.none} hint={text.noneHint}>
            {disabledReason(view, props.domain, "change") === null ? (
              <a class="button" href={`${page}/import`}>
                {view.messages.domains.import.title}
              </a>
            ) : null}
          </EmptyState>
        )}
        <Pages
          view={view}
          base={page}
          query={recordFilters(query)}
          cursor={query.cursor}
          next={records.next_cursor}
        />
      </div>
    </section>
  );
}

/** Filters by text and type; the links that add a record and export all of them. */
function RecordBar({ view, domain, query, page }: RecordsProps & { readonly page: string }) {
  const { messages } = view;
  const text = messages.domains.record;
  const why = disabledReason(view, domain, "change");
  const isOffered = notAllowed(view, "domain_record:update") === null;
  return (
    <div class="record-bar">
      <search>
        <form
          class="filters"
          method="get"
          action={page}
          hx-get={page}
          hx-trigger="input delay:250ms, submit"
          hx-target="#record-list"
          hx-select="#record-list"
          hx-swap="outerMorph"
          hx-replace-url="true"
          hx-sync="this:replace"
        >
          <label class="search">
            <span class="visually-hidden">{messages.common.search}</span>
            <Icon name="search" size={17} />
            <input
              type="search"
              name="q"
              value={query.q}
              placeholder={text.search}
              maxlength={100}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
            />
          </label>
          <label>
            <span class="visually-hidden">{text.type}</span>
            <select name="type">
              <option value="">{text.allTypes}</option>
              {recordTypes.map((type) => (
                <option value={type} selected={query.type === type}>
                  {type}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" class="button without-script">
            {messages.common.apply}
          </button>
        </form>
      </search>
      <div class="record-acts">
        {domain.record_count === 0 ? null : (
          <a class="button" href={`${page}/zone-file`} download>
            <Icon name="download" size={16} />
            {text.download}
          </a>
        )}
        {isOffered && why === null ? (
          <InPlaceLink address={recordsAddress(page, query, { add: "yes" })} kind="primary">
            <Icon name="plus" size={16} />
            {text.add}
          </InPlaceLink>
        ) : null}
      </div>
      {isOffered && why !== null ? <p class="hint">{why}</p> : null}
    </div>
  );
}

const isSame = (one: Key, other: Key) => one.name === other.name && one.type === other.type;
type Key = { readonly name: string; readonly type: string };
