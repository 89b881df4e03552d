import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { Icon } from "../../layout/icons.tsx";
import { NothingMatches, SelectorProblem } from "../../layout/list-filters.tsx";
import { ListTable } from "../../layout/list-table.tsx";
import { Banner, EmptyState, PageHead, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";
import { SelectionBar, selectColumn } from "../selected/selection-part.tsx";
import { serverColumns, serverName } from "./list-columns.tsx";
import { ServerFilters } from "./list-filters-part.tsx";
import { isServerListNarrowed, type ServerListQuery, serverListParameters } from "./list-query.ts";
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

export function ServerListPage(props: Props) {
  const { view, query, regions, notice } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={messages.servers.title} section="servers">
      <PageHead title={messages.servers.title}>
        <CreateLink view={view} />
      </PageHead>
      {notice === null ? null : <Banner kind="notice">{notice}</Banner>}
      <ServerFilters view={view} query={query} regions={regions} />
      <SilentRegions view={view} regions={regions} />
      <ServerList {...props} />
      <SelectionBar view={view} kind={selectedServers} items={props.servers.items} />
    </Shell>
  );
}

function CreateLink({ view }: { readonly view: View }) {
  const { messages, session } = view;
  if (session !== null && !may(session, "server:create")) return null;
  return (
    <a class="button" data-kind="primary" href="/servers/new">
      <Icon name="plus" />
      {messages.servers.create}
    </a>
  );
}

/** A page with more rows polls less often, since it is as long as that many pages. */
const mostAtOnce = 50;

/** The part of the page that refreshes by itself, and that a filter replaces. */
function ServerList({ view, query, servers, selectorProblem }: Props) {
  const { messages } = view;
  const parameters = serverListParameters(query);
  const address = parameters.size === 0 ? "/servers" : `/servers?${parameters}`;
  return (
    <section
      id="server-list"
      aria-label={messages.servers.title}
      data-poll=""
      hx-get={address}
      hx-trigger={`every ${servers.items.length > mostAtOnce ? 10 : 4}s, refresh`}
      hx-select="#server-list"
      hx-swap="outerMorph"
    >
      <SelectorProblem text={selectorProblem} />
      {servers.items.length === 0 ? (
        <NoServers view={view} filtered={isServerListNarrowed(query)} />
      ) : (
        <>
          <ListTable
            view={view}
            list="servers"
            items={servers.items}
            name={serverName(view)}
            columns={serverColumns(view)}
            sorted={{ page: "/servers", parameters, sort: query.sort }}
            row={({ id, status }) => ({ id, "data-tone": serverTone(status) })}
            {...selectColumn(view, selectedServers)}
            acts={{
              head: <span class="visually-hidden">{messages.rowMenu.title}</span>,
              class: "row-more",
              cell: (server) => <RowMenu view={view} server={server} />,
            }}
          />
          <div class="list-foot">
            <p class="hint">
              {messages.servers.count(
                servers.items.length,
                servers.next_cursor !== null || query.cursor !== undefined,
              )}
            </p>
            <Pages
              view={view}
              base="/servers"
              query={parameters}
              cursor={query.cursor}
              next={servers.next_cursor}
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
      <CreateLink view={view} />
      <ApiCall
        view={view}
        id="empty-call"
        operation="createServer"
        body={{ name: "web-1", image: "ubuntu-24.04", package: "s" }}
      />
    </EmptyState>
  );
}
