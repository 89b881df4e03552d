import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import { AttachedTo } from "./attached-to-part.tsx";
import type { PublicIpsPageProps } from "./props.ts";
import { publicIps } from "./resource.ts";
import { selectedPublicIps } from "./selected.tsx";
import { toneOf } from "./status.ts";

type PublicIp = Schemas["PublicIp"];

export function PublicIpsPage(props: PublicIpsPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={publicIps}
      found={props.ips}
      options={<ListView view={view} list="public_ips" columns={publicIpColumns(view)} />}
      selected={selectedPublicIps}
      mayCreate={session === null || may(session, "public_ip:create")}
    >
      <PublicIpTable {...props} />
    </ResourceListPage>
  );
}

function publicIpColumns(view: View): Columns<"public_ips", PublicIp> {
  const { messages } = view;
  const text = messages.publicIps;
  return {
    status: {
      label: messages.common.status,
      isPlain: true,
      cell: (ip) => <Status tone={toneOf(ip)}>{text.status[ip.status]}</Status>,
    },
    server: { label: text.server, cell: (ip) => <AttachedTo ip={ip} none="–" /> },
    ptr: { label: text.ptr, class: "mono breakable", cell: ({ ptr }) => ptr ?? "–" },
    region: { label: messages.common.region, cell: ({ region }) => region },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function PublicIpTable({ view, ips, query }: PublicIpsPageProps) {
  const text = view.messages.publicIps;
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedPublicIps)}
      list="public_ips"
      caption={text.title}
      items={ips.items}
      name={{
        label: text.address,
        sort: "address",
        class: "mono",
        cell: (ip) => (
          <>
            <a href={`/public-ips/${ip.id}`}>{ip.address}</a>
            {ip.protection.delete ? (
              <span class="lock" title={text.protected}>
                <Icon name="lock" size={14} />
                <span class="visually-hidden">{text.protected}</span>
              </span>
            ) : null}
            <LabelTags labels={ip.labels} list="/public-ips" />
          </>
        ),
      }}
      columns={publicIpColumns(view)}
      sorted={{ page: "/public-ips", parameters: listParameters(query), sort: query.sort }}
      row={(ip) => ({ id: ip.id, "data-tone": toneOf(ip) })}
    />
  );
}
