import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { nameSorts } from "../../layout/list-query.ts";
import { ListView } from "../../layout/list-view.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { Banner, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { may } from "../../session.ts";
import { offeredActs } from "../selected/selected-kind.ts";
import { SelectBox, SelectionBar } from "../selected/selection.tsx";
import { CreateNetwork, CreateSubnet, type NetworksPageProps as Props } from "./create-forms.tsx";
import { networkTones } from "./network-status.ts";
import { selectedNetworks } from "./selected-networks.tsx";

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
      </PageHead>
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      <NarrowedList
        view={view}
        page="/networks"
        list="network-list"
        filters={networkFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{ title: messages.networks.empty, hint: messages.networks.emptyHint }}
        found={networks}
        options={<ListView view={view} list="networks" columns={{}} />}
      >
        {networks.items.map((network) => (
          <NetworkPanel {...props} network={network} mayCreate={mayCreate} />
        ))}
      </NarrowedList>
      <SelectionBar view={view} kind={selectedNetworks} items={networks.items} />
      {mayCreate ? (
        <CreateNetwork {...props} />
      ) : (
        <p class="hint">{messages.common.notAllowed("network:create")}</p>
      )}
    </Shell>
  );
}

function NetworkPanel(props: Props & { readonly network: Schemas["Network"]; readonly mayCreate: boolean }) {
  const { view, network } = props;
  const { messages, format } = view;
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
        {network.description === "" ? null : ` · ${network.description}`}
      </p>
      <LabelTags labels={network.labels} list="/networks" />
      {subnets.length === 0 ? (
        <p class="hint">{messages.networks.noSubnets}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{`${messages.networks.subnets}: ${network.name}`}</caption>
          <thead>
            <tr>
              <th scope="col">{messages.servers.subnet}</th>
              <th scope="col">{messages.networks.tier}</th>
              <th scope="col">{messages.networks.cidr}</th>
              <th scope="col">{messages.networks.gateway}</th>
              <th scope="col">{messages.networks.egressLabel}</th>
              <th scope="col">{messages.networks.usage}</th>
            </tr>
          </thead>
          <tbody>
            {subnets.map((subnet) => (
              <tr id={subnet.id}>
                <th scope="row">
                  {subnet.name}
                  <LabelTags labels={subnet.labels} />
                </th>
                <td data-label={messages.networks.tier}>
                  <span class="tag">{messages.networks.tiers[subnet.tier]}</span>
                </td>
                <td class="mono" data-label={messages.networks.cidr}>
                  {subnet.cidr}
                </td>
                <td class="mono" data-label={messages.networks.gateway}>
                  {subnet.gateway_ip}
                </td>
                <td data-label={messages.networks.egressLabel}>{messages.networks.egress[subnet.egress]}</td>
                <td class="figures" data-label={messages.networks.usage}>
                  {messages.networks.usageOf(
                    format.number(subnet.usage.addresses_used),
                    format.number(subnet.usage.addresses_total),
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {props.mayCreate ? <CreateSubnet {...props} withCall /> : null}
    </section>
  );
}
