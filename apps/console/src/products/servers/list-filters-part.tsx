import type { Schemas } from "@kule/contract/schemas";
import { ListFilters } from "../../layout/list-filters.tsx";
import { regionSorts } from "../../layout/list-query.ts";
import { ListView } from "../../layout/list-view.tsx";
import type { View } from "../../layout/view.ts";
import { serverColumns } from "./list-columns.tsx";
import { type ServerListQuery, serverFilters } from "./list-query.ts";
import { serverStatuses } from "./status.ts";

type Props = {
  readonly view: View;
  readonly query: ServerListQuery;
  readonly regions: readonly Schemas["CatalogRegion"][];
};

/** The common filters of lists, and status. */
export function ServerFilters({ view, query, regions }: Props) {
  const { messages } = view;
  return (
    <ListFilters
      view={view}
      page="/servers"
      list="server-list"
      filters={serverFilters}
      sorts={regionSorts}
      query={query}
      regions={regions}
      options={<ListView view={view} list="servers" columns={serverColumns(view)} />}
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
        <span class="visually-hidden">{messages.servers.managedFilter.label}</span>
        <select name="managed">
          <option value="">{messages.servers.managedFilter.own}</option>
          <option value="true" selected={query.managed}>
            {messages.servers.managedFilter.managed}
          </option>
        </select>
      </label>
    </ListFilters>
  );
}
