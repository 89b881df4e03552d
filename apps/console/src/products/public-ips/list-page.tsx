import type { Schemas } from "@kule/contract/schemas";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { Icon } from "../../layout/icons.tsx";
import { LabelTags } from "../../layout/labels.tsx";
import { addressSorts, type ListQuery, listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead, Status, ToForm, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { SelectionBar, selectColumn } from "../selected/selection.tsx";
import { AttachedTo } from "./attached-to.tsx";
import { toneOf } from "./public-ip-status.ts";
import { selectedPublicIps } from "./selected-public-ips.tsx";
import { TakePublicIp } from "./take-public-ip.tsx";

type PublicIp = Schemas["PublicIp"];

export type PublicIpsPageProps = {
  readonly view: View;
  readonly ips: Schemas["PublicIpList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  /** The form `take`, if the API did not take it. */
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export const publicIpFilters = ["address", "region", "labels"] as const;

export function PublicIpsPage(props: PublicIpsPageProps) {
  const { view, ips, banner, query } = props;
  const { messages, session } = view;
  const text = messages.publicIps;
  const mayTake = session === null || may(session, "public_ip:create");
  return (
    <Shell view={view} title={text.title} section="publicIps">
      <PageHead title={text.title} lead={text.lead}>
        {mayTake ? <ToForm form="take-title">{text.take}</ToForm> : null}
      </PageHead>
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page="/public-ips"
        list="public-ip-list"
        filters={publicIpFilters}
        sorts={addressSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{
          title: text.empty,
          hint: text.emptyHint,
          begin: mayTake ? { form: "take-title", text: text.take } : null,
        }}
        found={ips}
        options={<ListView view={view} list="public_ips" columns={publicIpColumns(view)} />}
        isLive
      >
        <PublicIpTable {...props} />
      </NarrowedList>
      <SelectionBar view={view} kind={selectedPublicIps} items={ips.items} />
      {mayTake ? <TakePublicIp {...props} /> : null}
      <ApiCalls view={view} calls={[{ operation: "listPublicIps" }]} />
    </Shell>
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
