import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { Offered } from "../../layout/action-button.tsx";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { NothingMatches, SelectorProblem } from "../../layout/list-filters.tsx";
import { ListTable } from "../../layout/list-table.tsx";
import { Banner, CreateLink, EmptyState, PageHead, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { createPath } from "../../resources/resource.ts";
import { SelectionBar, selectColumn } from "../selected/selection-part.tsx";
import { serverColumns, serverName } from "./list-columns.tsx";
import { ServerFilters } from "./list-filters-part.tsx";
import { isServerListNarrowed, type ServerListQuery, serverListParameters } from "./list-query.ts";
import { servers } from "./resource.ts";
import { RowMenu } from "./row-menu-part.tsx";
import { SilentRegions } from "./seen-panel.tsx";
import { selectedServers } from "./selected.tsx";
import { serverTone } from "./status.ts";

type Props = {
  readonly view: View;
  readonly query: ServerListQuery;
  readonly servers: Schemas["ServerList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly notice: string | null;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
};

const listCalls: readonly CalledOperation[] = [
  { operation: "listServers" },
  { operation: "createServer", body: { name: "web-1", image: "ubuntu-24.04", package: "s" } },
];

export function ServerListPage(props: Props) {
  const { view, query, regions, notice } = props;
  const { messages } = view;
  // An empty list has the button in its middle; a page has one primary button.
  const isEmpty =
    props.servers.items.length === 0 && !isServerListNarrowed(query) && query.cursor === undefined;
  return (
    <Shell view={view} title={messages.servers.title} section="servers">
      <PageHead title={messages.servers.title} api={<ApiDrawer view={view} calls={listCalls} />}>
        {isEmpty ? null : (
          <Offered view={view} permission="server:create">
            <CreateLink path={createPath(servers)}>{messages.servers.create}</CreateLink>
          </Offered>
        )}
      </PageHead>
      {notice === null ? null : <Banner kind="notice">{notice}</Banner>}
      <ServerFilters view={view} query={query} regions={regions} />
      <SilentRegions view={view} regions={regions} />
      <ServerList {...props} />
      {query.managed ? null : <SelectionBar view={view} kind={selectedServers} items={props.servers.items} />}
    </Shell>
  );
}

/** A page with more rows polls less often, since it is as long as that many pages. */
const mostAtOnce = 50;

/** The part of the page that refreshes by itself, and that a filter replaces. */
function ServerList({ view, query, servers: found, selectorProblem }: Props) {
  const { messages } = view;
  const parameters = serverListParameters(query);
  const address = parameters.size === 0 ? "/servers" : `/servers?${parameters}`;
  return (
    <section
      id="server-list"
      aria-label={messages.servers.title}
      data-poll=""
      hx-get={address}
      hx-trigger={`every ${found.items.length > mostAtOnce ? 10 : 4}s, refresh`}
      hx-select="#server-list"
      hx-swap="outerMorph"
    >
      <SelectorProblem text={selectorProblem} />
      {found.items.length === 0 ? (
        <NoServers view={view} filtered={isServerListNarrowed(query)} />
      ) : (
        <>
          <ListTable
            view={view}
            list="servers"
            items={found.items}
            name={serverName(view)}
            columns={serverColumns(view)}
            sorted={{ page: "/servers", parameters, sort: query.sort }}
            row={({ id, status }) => ({ id, "data-tone": serverTone(status) })}
            {...(query.managed ? {} : selectColumn(view, selectedServers))}
            acts={{
              head: <span class="visually-hidden">{messages.rowMenu.title}</span>,
              class: "row-more",
              cell: (server) => <RowMenu view={view} server={server} />,
            }}
          />
          <div class="list-foot">
            <p class="hint">
              {messages.servers.count(
                found.items.length,
                found.next_cursor !== null || query.cursor !== undefined,
              )}
            </p>
            <Pages
              view={view}
              base="/servers"
              query={parameters}
              cursor={query.cursor}
              next={found.next_cursor}
            />
          </div>
        </>
      )}
    </section>
  );
}

function NoServers({ view, filtered }: { readonly view: View; readonly filtered: boolean }) {
  const { messages } = view;
  if (filtered) return <NothingMatches view={view} page="/servers" />;
  return (
    <EmptyState title={messages.servers.empty} hint={messages.servers.emptyHint}>
      <Offered view={view} permission="server:create">
        <CreateLink path={createPath(servers)}>{messages.servers.create}</CreateLink>
      </Offered>
    </EmptyState>
  );
}
