import type { Schemas } from "@kule/contract/schemas";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { AddressBar } from "./address-bar-part.tsx";
import type { IpPoolsPageProps } from "./props.ts";
import { ipPools } from "./resource.ts";

export function IpPoolsPage(props: IpPoolsPageProps) {
  const { view } = props;
  return (
    <ResourceListPage
      {...props}
      resource={ipPools}
      found={props.pools}
      options={<ListView view={view} list="ip_pools" columns={poolColumns(view)} />}
      // Only operators see the list.
      mayCreate
      above={<OperatorTabs view={view} current="ipPools" />}
    >
      <PoolTable {...props} />
    </ResourceListPage>
  );
}

function poolColumns(view: View): Columns<"ip_pools", Schemas["IpPool"]> {
  const { messages, format } = view;
  const text = messages.ipPools;
  return {
    region: { label: messages.common.region, sort: "region", cell: ({ region }) => region },
    network: {
      label: text.network,
      class: "mono",
      cell: ({ gateway, prefix_length }) => `${gateway}/${prefix_length}`,
    },
    use: {
      label: text.use,
      cell: ({ addresses }) => {
        const { total, reserved, allocated, taken } = addresses;
        return (
          <div class="fill-cell">
            <AddressBar view={view} addresses={addresses} />
            <span class="hint figures">
              {total === 0
                ? text.noAddresses
                : text.given(format.number(allocated + taken), format.number(total - reserved))}
            </span>
          </div>
        );
      },
    },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function PoolTable({ view, pools, query }: IpPoolsPageProps) {
  const text = view.messages.ipPools;
  return (
    <ListTable
      view={view}
      list="ip_pools"
      caption={text.title}
      items={pools.items}
      name={{
        label: text.pool,
        sort: "name",
        cell: ({ id, name, version }) => (
          <>
            <a href={`/ip-pools/${id}`}>{name}</a> <span class="tag">{`IPv${version}`}</span>
          </>
        ),
      }}
      columns={poolColumns(view)}
      sorted={{ page: "/ip-pools", parameters: listParameters(query), sort: query.sort }}
      row={() => ({})}
    />
  );
}
