import type { Schemas } from "@kule/contract/schemas";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { type ListQuery, listParameters, nameSorts } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { NoRegions } from "../operator/no-regions.tsx";
import { AddressBar } from "./address-bar.tsx";

export type IpPoolsPageProps = {
  readonly view: View;
  readonly pools: Schemas["IpPoolList"];
  readonly regions: readonly Schemas["Region"][];
  readonly query: ListQuery;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export const poolFilters = ["region"] as const;

export function IpPoolsPage(props: IpPoolsPageProps) {
  const { view, pools, banner, query } = props;
  const { ipPools } = view.messages;
  return (
    <Shell view={view} title={ipPools.title} section="operator">
      <OperatorTabs view={view} current="ipPools" />
      <PageHead title={ipPools.title} lead={ipPools.lead} />
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page="/ip-pools"
        list="pool-list"
        filters={poolFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        empty={{
          title: ipPools.empty,
          hint: ipPools.emptyHint,
          begin: props.regions.length === 0 ? null : { form: "create-title", text: ipPools.create },
        }}
        found={pools}
        options={<ListView view={view} list="ip_pools" columns={poolColumns(view)} />}
      >
        <PoolTable {...props} />
      </NarrowedList>
      {props.regions.length === 0 ? <NoRegions view={view} /> : <CreatePool {...props} />}
      <ApiCalls
        view={view}
        calls={[
          { operation: "listIpPools" },
          {
            operation: "createIpPool",
            body: {
              region: props.regions[0]?.slug ?? "ist1",
              name: "public",
              gateway: "203.0.113.1",
              prefix_length: 24,
            },
          },
        ]}
      />
    </Shell>
  );
}

function poolColumns(view: View): Columns<"ip_pools", Schemas["IpPool"]> {
  const { messages, format } = view;
  const text = messages.ipPools;
  return {
    region: { label: messages.common.region, cell: ({ region }) => region },
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

function CreatePool({ view, regions, form, idempotencyKey }: IpPoolsPageProps) {
  const { messages } = view;
  const text = messages.ipPools;
  const problems = form?.problems ?? noProblems;
  const value = (name: string) => form?.values[name] ?? "";
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{text.create}</h2>
      </div>
      <p class="panel-lead">{text.createHint}</p>
      <form class="form" method="post" action="/ip-pools">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div class="form-row">
          <SelectField
            name="region"
            label={messages.common.region}
            value={value("region")}
            options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
            problems={problems}
          />
          <TextField
            view={view}
            name="name"
            label={messages.common.name}
            value={value("name")}
            problems={problems}
            required
            maxlength={100}
          />
        </div>
        <TextField
          view={view}
          name="gateway"
          label={text.gateway}
          value={value("gateway")}
          hint={text.gatewayHint}
          problems={problems}
          required
          mono
          maxlength={45}
        />
        <div class="form-row">
          <TextField
            view={view}
            name="prefix_length"
            label={text.prefixLength}
            value={form === null ? "24" : value("prefix_length")}
            problems={problems}
            required
            mono
            maxlength={3}
            attributes={{ inputmode: "numeric" }}
          />
          <TextField
            view={view}
            name="vlan"
            label="VLAN"
            value={value("vlan")}
            hint={text.vlanHint}
            problems={problems}
            optional
            mono
            maxlength={4}
            attributes={{ inputmode: "numeric" }}
          />
        </div>
        <TextField
          view={view}
          name="description"
          label={messages.common.description}
          value={value("description")}
          problems={problems}
          optional
          maxlength={500}
        />
        <button type="submit" class="button" data-kind="primary">
          {text.create}
        </button>
      </form>
    </section>
  );
}
