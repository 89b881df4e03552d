import type { Schemas } from "@kule/contract/schemas";
import { ListFilters } from "../../layout/list-filters.tsx";
import type { View } from "../../layout/view.ts";
import { type ServerListQuery, serverFilters, sorts } from "./list-query.ts";
import { serverStatuses } from "./server-status.ts";

type Props = {
  readonly view: View;
  readonly query: ServerListQuery;
  readonly regions: readonly Schemas["CatalogRegion"][];
};

/** What every list has, and status and order. */
export function ServerFilters({ view, query, regions }: Props) {
  const { messages } = view;
  return (
    <ListFilters
      view={view}
      page="/servers"
      list="server-list"
      filters={serverFilters}
      query={query}
      regions={regions}
    >
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
        <span class="visually-hidden">{messages.servers.sortLabel}</span>
        <select name="sort">
          {sorts.map((sort) => (
            <option value={sort} selected={query.sort === sort}>
              {messages.servers.sort[sort]}
            </option>
          ))}
        </select>
      </label>
    </ListFilters>
  );
}
