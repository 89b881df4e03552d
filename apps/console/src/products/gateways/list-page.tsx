import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { LabelTags } from "../../layout/labels.tsx";
import { type ListQuery, listParameters, nameSorts } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { may } from "../../session.ts";
import { SelectionBar, selectColumn } from "../selected/selection.tsx";
import { gatewayTones } from "./gateway-status.ts";
import { selectedGateways } from "./selected-gateways.tsx";

export type GatewaysPageProps = {
  readonly view: View;
  readonly gateways: Schemas["GatewayList"];
  readonly networks: readonly Schemas["Network"][];
  /** Those of the networks that have no gateway. */
  readonly without: readonly Schemas["Network"][];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};

export const gatewayFilters = ["hostname", "region", "labels"] as const;

export function GatewaysPage(props: GatewaysPageProps) {
  const { view, gateways, networks, without, query, banner } = props;
  const { messages, session } = view;
  const text = messages.gateways;
  const mayGive = session === null || may(session, "gateway:create");
  return (
    <Shell view={view} title={text.title} section="networks">
      <p class="crumbs">
        <a href="/networks">{messages.network.all}</a>
      </p>
      <PageHead title={text.title} lead={text.lead} />
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page="/gateways"
        list="gateway-list"
        filters={gatewayFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{
          title: text.empty,
          hint: text.emptyHint,
          begin: mayGive ? { form: "give-title", text: text.give } : null,
        }}
        found={gateways}
        options={<ListView view={view} list="gateways" columns={gatewayColumns(props)} />}
        isLive
      >
        <GatewayTable {...props} />
      </NarrowedList>
      <SelectionBar view={view} kind={selectedGateways} items={gateways.items} />
      <section class="panel" aria-labelledby="give-title">
        <div class="panel-head">
          <h2 id="give-title">{text.give}</h2>
        </div>
        {!mayGive ? null : networks.length === 0 ? (
          <p>
            {text.firstNetwork} <a href="/networks#create-title">{messages.networks.create}</a>
          </p>
        ) : without.length === 0 ? (
          <p class="hint">{text.noNetworks}</p>
        ) : (
          <div class="act-group">
            {without.map(({ id, name }) => (
              <a class="button" href={`/gateways/new?network=${id}`}>
                <Icon name="plus" size={15} />
                {text.giveTo(name)}
              </a>
            ))}
          </div>
        )}
      </section>
    </Shell>
  );
}

function gatewayColumns({ view, networks }: GatewaysPageProps): Columns<"gateways", Schemas["Gateway"]> {
  const { messages, format } = view;
  const text = messages.gateways;
  return {
    status: {
      label: messages.common.status,
      cell: ({ status }) => <Status tone={gatewayTones[status]}>{text.status[status]}</Status>,
    },
    address: { label: text.address, class: "mono", cell: ({ public_ip }) => public_ip.address },
    network: {
      label: text.network,
      cell: ({ network_id }) => (
        <a href={`/networks/${network_id}`}>
          {networks.find(({ id }) => id === network_id)?.name ?? network_id}
        </a>
      ),
    },
    serves: {
      label: text.serves,
      cell: ({ subnets }) => (subnets.length === 0 ? "–" : subnets.map(({ name }) => name).join(", ")),
    },
    forwards: {
      label: text.forwards.title,
      class: "figures",
      cell: ({ port_forwards }) => format.number(port_forwards),
    },
    region: { label: messages.common.region, cell: ({ region }) => region },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function GatewayTable(props: GatewaysPageProps) {
  const { view, gateways, query } = props;
  const { messages } = view;
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedGateways)}
      list="gateways"
      caption={messages.gateways.title}
      items={gateways.items}
      name={{
        label: messages.common.name,
        sort: "name",
        cell: ({ id, name, labels }) => (
          <>
            <a href={`/gateways/${id}`}>{name}</a>
            <LabelTags labels={labels} list="/gateways" />
          </>
        ),
      }}
      columns={gatewayColumns(props)}
      sorted={{ page: "/gateways", parameters: listParameters(query), sort: query.sort }}
      row={({ id, status }) => ({ id, "data-tone": gatewayTones[status] })}
    />
  );
}
