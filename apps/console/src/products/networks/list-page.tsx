import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { nameSorts } from "../../layout/list-query.ts";
import { ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead, Status, ToForm, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { may } from "../../session.ts";
import { offeredActs } from "../selected/selected-kind.ts";
import { SelectBox, SelectionBar } from "../selected/selection.tsx";
import { CreateNetwork, CreateSubnet, type NetworksPageProps as Props } from "./create-forms.tsx";
import { networkTones } from "./network-status.ts";
import { selectedNetworks } from "./selected-networks.tsx";
import { subnetColumns } from "./subnet-columns.tsx";

export const networkFilters = ["hostname", "region", "labels"] as const;

export function NetworksPage(props: Props) {
  const { view, networks, banner, query } = props;
  const { messages, session } = view;
  const mayCreate = session === null || may(session, "network:create");
  return (
    <Shell view={view} title={messages.networks.title} section="networks">
      <PageHead title={messages.networks.title} lead={messages.networks.lead}>
        <a class="button" href="/gateways">
          {messages.gateways.title}
        </a>
        {mayCreate ? <ToForm form="create-title">{messages.networks.create}</ToForm> : null}
      </PageHead>
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page="/networks"
        list="network-list"
        filters={networkFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{
          title: messages.networks.empty,
          hint: messages.networks.emptyHint,
          begin: mayCreate ? { form: "create-title", text: messages.networks.create } : null,
        }}
        found={networks}
        options={<ListView view={view} list="networks" columns={subnetColumns(view)} />}
      >
        {networks.items.map((network) => (
          <NetworkPanel {...props} network={network} mayCreate={mayCreate} />
        ))}
      </NarrowedList>
      <SelectionBar view={view} kind={selectedNetworks} items={networks.items} />
      {mayCreate ? <CreateNetwork {...props} /> : null}
    </Shell>
  );
}

function NetworkPanel(props: Props & { readonly network: Schemas["Network"]; readonly mayCreate: boolean }) {
  const { view, network } = props;
  const { messages } = view;
  const subnets = props.subnets.get(network.id) ?? [];
  return (
    <section class="panel" id={network.id} aria-labelledby={`title-${network.id}`}>
      <div class="panel-head">
        <h2 id={`title-${network.id}`}>
          {offeredActs(view, selectedNetworks).length === 0 ? null : (
            <span class="choose">
              <SelectBox view={view} {...selectedNetworks.nameOf(network)} />
            </span>
          )}
          <a href={`/networks/${network.id}`}>{network.name}</a>{" "}
          {network.is_default && network.name !== messages.networks.default ? (
            <span class="tag">{messages.networks.default}</span>
          ) : null}
        </h2>
        <Status tone={networkTones[network.status]}>{messages.networks.status[network.status]}</Status>
      </div>
      <p class="panel-lead">
        <span class="mono">{network.cidr}</span> · {network.region}
        {network.description === "" ? null : ` · ${network.description}`} · {messages.networks.made}{" "}
        <When view={view} time={network.created_at} />
      </p>
      <LabelTags labels={network.labels} list="/networks" />
      {subnets.length === 0 ? (
        <p class="hint">{messages.networks.noSubnets}</p>
      ) : (
        <ListTable
          view={view}
          list="networks"
          caption={`${messages.networks.subnets}: ${network.name}`}
          items={subnets}
          name={{
            label: messages.servers.subnet,
            cell: ({ name, labels }) => (
              <>
                {name}
                <LabelTags labels={labels} />
              </>
            ),
          }}
          columns={subnetColumns(view)}
          row={({ id }) => ({ id })}
        />
      )}
      {props.mayCreate ? <CreateSubnet {...props} withCall /> : null}
    </section>
  );
}
