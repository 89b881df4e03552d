import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import type { LoadBalancersPageProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";
import { selectedLoadBalancers } from "./selected.tsx";
import { balancerTones } from "./status.ts";

export function LoadBalancersPage(props: LoadBalancersPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={loadBalancers}
      found={props.balancers}
      options={<ListView view={view} list="load_balancers" columns={balancerColumns(props)} />}
      selected={selectedLoadBalancers}
      mayCreate={session === null || may(session, "load_balancer:write")}
    >
      <BalancerTable {...props} />
    </ResourceListPage>
  );
}

function balancerColumns({
  view,
  networks,
}: LoadBalancersPageProps): Columns<"load_balancers", Schemas["LoadBalancer"]> {
  const { messages, format } = view;
  const text = messages.loadBalancers;
  return {
    status: {
      label: messages.common.status,
      cell: ({ status }) => <Status tone={balancerTones[status]}>{text.status[status]}</Status>,
    },
    address: {
      label: text.address,
      class: "mono",
      cell: ({ public_ip, private_ip }) => public_ip?.address ?? private_ip ?? "–",
    },
    network: {
      label: text.network,
      cell: ({ network_id }) => (
        <a href={`/networks/${network_id}`}>
          {networks.find(({ id }) => id === network_id)?.name ?? network_id}
        </a>
      ),
    },
    listeners: {
      label: text.listeners.title,
      class: "figures number",
      cell: ({ listeners }) => format.number(listeners),
    },
    targets: {
      label: text.targets.title,
      class: "figures number",
      cell: ({ targets }) => format.number(targets),
    },
    region: { label: messages.common.region, sort: "region", cell: ({ region }) => region },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function BalancerTable(props: LoadBalancersPageProps) {
  const { view, balancers, query } = props;
  const { messages } = view;
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedLoadBalancers)}
      list="load_balancers"
      caption={messages.loadBalancers.title}
      items={balancers.items}
      name={{
        label: messages.common.name,
        sort: "name",
        cell: ({ id, name, labels }) => (
          <>
            <a href={`/load-balancers/${id}`}>{name}</a>
            <LabelTags labels={labels} list="/load-balancers" />
          </>
        ),
      }}
      columns={balancerColumns(props)}
      sorted={{ page: "/load-balancers", parameters: listParameters(query), sort: query.sort }}
      row={({ id, status }) => ({ id, "data-tone": balancerTones[status] })}
    />
  );
}
