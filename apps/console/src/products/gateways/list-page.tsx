import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import type { GatewaysPageProps } from "./props.ts";
import { gateways } from "./resource.ts";
import { selectedGateways } from "./selected.tsx";
import { gatewayTones } from "./status.ts";

export function GatewaysPage(props: GatewaysPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={gateways}
      found={props.gateways}
      options={<ListView view={view} list="gateways" columns={gatewayColumns(props)} />}
      selected={selectedGateways}
      mayCreate={session === null || may(session, "gateway:create")}
    >
      <GatewayTable {...props} />
    </ResourceListPage>
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
      class: "figures number",
      cell: ({ port_forwards }) => format.number(port_forwards),
    },
    region: { label: messages.common.region, sort: "region", cell: ({ region }) => region },
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
