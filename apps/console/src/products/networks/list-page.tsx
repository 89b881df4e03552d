import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { may } from "../../session.ts";
import { offeredActions } from "../selected/kind.ts";
import { SelectBox } from "../selected/selection-part.tsx";
import { CreateSubnetLink } from "./create-subnet-part.tsx";
import type { NetworksPageProps as Props } from "./props.ts";
import { networks } from "./resource.ts";
import { selectedNetworks } from "./selected.tsx";
import { networkTones } from "./status.ts";
import { subnetColumns } from "./subnet-columns.tsx";

export function NetworksPage(props: Props) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={networks}
      found={props.networks}
      options={<ListView view={view} list="networks" columns={subnetColumns(view)} />}
      selected={selectedNetworks}
      mayCreate={session === null || may(session, "network:create")}
    >
      {props.networks.items.map((network) => (
        <NetworkPanel {...props} network={network} />
      ))}
    </ResourceListPage>
  );
}

function NetworkPanel(props: Props & { readonly network: Schemas["Network"] }) {
  const { view, network } = props;
  const { messages } = view;
  const subnets = props.subnets.get(network.id) ?? [];
  return (
    <section class="panel" id={network.id} aria-labelledby={`title-${network.id}`}>
      <div class="panel-head">
        <h2 id={`title-${network.id}`}>
          {offeredActions(view, selectedNetworks).length === 0 ? null : (
            <span class="choose">
              <SelectBox view={view} id={network.id} name={network.name} />
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
      <div class="acts">
        <CreateSubnetLink view={view} network={network} />
      </div>
    </section>
  );
}
