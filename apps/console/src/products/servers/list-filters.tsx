import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { type ServerListQuery, sorts } from "./list-query.ts";
import { serverStatuses } from "./server-status.ts";

type Props = {
  readonly view: View;
  readonly query: ServerListQuery;
  readonly regions: readonly Schemas["CatalogRegion"][];
};

/** Search, status, region and order. With a script the list follows each change; without, there is a button. */
export function ServerFilters({ view, query, regions }: Props) {
  const { messages } = view;
  return (
    <search>
      <form
        class="filters"
        method="get"
        action="/servers"
        hx-get="/servers"
        hx-trigger="input delay:250ms, submit"
        hx-target="#server-list"
        hx-select="#server-list"
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
            placeholder={messages.servers.searchPlaceholder}
            maxlength={63}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
          />
        </label>
        <label>
          <span class="visually-hidden">{messages.common.status}</span>
          <select name="status">
            <option value="">{messages.servers.allStatuses}</option>
            {serverStatuses.map((status) => (
              <option value={status} selected={query.status.includes(status)}>
                {messages.servers.status[status]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="visually-hidden">{messages.common.region}</span>
          <select name="region">
            <option value="">{messages.servers.allRegions}</option>
            {regions.map((region) => (
              <option value={region.slug} selected={query.region === region.slug}>
                {region.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="visually-hidden">{messages.servers.sortLabel}</span>
          <select name="sort">
            {sorts.map((sort) => (
              <option value={sort} selected={query.sort === sort}>
                {messages.servers.sort[sort]}
              </option>
            ))}
          </select>
        </label>
        <label class="selector">
          <span class="visually-hidden">{messages.labels.filter}</span>
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
            title={messages.labels.filterHint}
            aria-describedby="labels-problem"
          />
        </label>
        <button type="submit" class="button without-script">
          {messages.common.apply}
        </button>
      </form>
    </search>
  );
}
