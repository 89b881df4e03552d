import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { type ListQuery, nameSorts } from "../../layout/list-query.ts";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { Banner, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { may } from "../../session.ts";
import { gatewayTones } from "./gateway-status.ts";

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
  return (
    <Shell view={view} title={text.title} section="networks">
      <p class="crumbs">
        <a href="/networks">{messages.network.all}</a>
      </p>
      <PageHead title={text.title} lead={text.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      <NarrowedList
        view={view}
        page="/gateways"
        list="gateway-list"
        filters={gatewayFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{ title: text.empty, hint: text.emptyHint }}
        found={gateways}
        isLive
      >
        <GatewayTable {...props} />
      </NarrowedList>
      <section class="panel" aria-labelledby="give-title">
        <div class="panel-head">
          <h2 id="give-title">{text.give}</h2>
        </div>
        {session !== null && !may(session, "gateway:create") ? (
          <p class="hint">{messages.common.notAllowed("gateway:create")}</p>
        ) : networks.length === 0 ? (
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

function GatewayTable({ view, gateways, networks }: GatewaysPageProps) {
  const { messages, format } = view;
  const text = messages.gateways;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{messages.common.name}</th>
          <th scope="col">{messages.common.status}</th>
          <th scope="col">{text.address}</th>
          <th scope="col">{text.network}</th>
          <th scope="col">{text.serves}</th>
          <th scope="col">{text.forwards.title}</th>
          <th scope="col">{messages.common.region}</th>
        </tr>
      </thead>
      <tbody>
        {gateways.items.map((gateway) => (
          <tr id={gateway.id} data-tone={gatewayTones[gateway.status]}>
            <th scope="row">
              <a href={`/gateways/${gateway.id}`}>{gateway.name}</a>
            </th>
            <td data-label={messages.common.status}>
              <Status tone={gatewayTones[gateway.status]}>{text.status[gateway.status]}</Status>
            </td>
            <td class="mono" data-label={text.address}>
              {gateway.public_ip.address}
            </td>
            <td data-label={text.network}>
              <a href={`/networks/${gateway.network_id}`}>
                {networks.find(({ id }) => id === gateway.network_id)?.name ?? gateway.network_id}
              </a>
            </td>
            <td data-label={text.serves}>
              {gateway.subnets.length === 0 ? "–" : gateway.subnets.map(({ name }) => name).join(", ")}
            </td>
            <td class="figures" data-label={text.forwards.title}>
              {format.number(gateway.port_forwards)}
            </td>
            <td data-label={messages.common.region}>{gateway.region}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
