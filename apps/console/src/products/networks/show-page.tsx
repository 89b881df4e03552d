import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Copyable, When } from "../../layout/parts.tsx";
import { ChangeForms } from "../../resources/change-forms.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { overviewCalls, settingsCalls } from "./calls.ts";
import { CreateSubnetLink } from "./create-subnet-part.tsx";
import { whyNotDeleteNetwork } from "./disabled-reason.ts";
import { ExplainPanel } from "./explain-panel.tsx";
import { headedNetworks } from "./head-part.tsx";
import { mapModel } from "./map-model.ts";
import { NetworkMap } from "./map-part.tsx";
import type { NetworkTabProps, OverviewProps } from "./props.ts";
import { networks } from "./resource.ts";
import { inAddressOrder } from "./subnet-order.ts";
import { ServersTable, SubnetsTable } from "./subnets-panel.tsx";

/** Its map with subnets and servers, and the reachability check. */
export function OverviewPage(props: OverviewProps) {
  const { view, network, subnets, places, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={networks}
      item={network}
      head={headedNetworks.headOf(view, network, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(props)}
      live={{ seconds: 6, gone: "/networks" }}
      still={
        <ExplainPanel view={view} network={network} subnets={subnets} places={places} asked={props.asked} />
      }
    >
      <MapPanel {...props} />
      <section class="panel" aria-labelledby="subnets-title">
        <div class="panel-head">
          <h2 id="subnets-title">{view.messages.network.subnets}</h2>
          <CreateSubnetLink view={view} network={network} />
        </div>
        <SubnetsTable {...props} />
      </section>
      <ServersTable {...props} />
      <Facts {...props} />
    </ResourcePage>
  );
}

/** Its name, description and labels; deletion. */
export function SettingsPage(props: NetworkTabProps) {
  const { view, network, banner, idempotencyKey } = props;
  const forms = { view, resource: networks, item: network, form: props.form, idempotencyKey };
  return (
    <ResourcePage
      view={view}
      resource={networks}
      item={network}
      head={headedNetworks.headOf(view, network, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(network)}
    >
      <ChangeForms {...forms} why={null} />
      <Offered view={view} permission="network:delete">
        <DeletePanel {...forms} why={whyNotDeleteNetwork(view, inAddressOrder(network.subnets))} />
      </Offered>
    </ResourcePage>
  );
}

function MapPanel({ view, network, subnets, places, gateway }: OverviewProps) {
  const { messages } = view;
  return (
    <section class="panel" aria-labelledby="map-title">
      <div class="panel-head">
        <h2 id="map-title">{messages.networkMap.title}</h2>
      </div>
      <NetworkMap
        view={view}
        model={mapModel({
          network,
          subnets,
          servers: places.servers,
          networks: places.networks,
          gateway,
        })}
      />
      <p class="map-foot">
        {gateway === null ? (
          <Offered view={view} permission="gateway:create">
            <a href={`/gateways/new?network=${network.id}`}>{messages.gateways.giveTo(network.name)}</a>
          </Offered>
        ) : (
          <a href={`/gateways/${gateway.id}`}>{`${messages.networkMap.gateway} ${gateway.name}`}</a>
        )}
      </p>
    </section>
  );
}

/** The network's record; the header has its region and addresses. */
function Facts({ view, network }: OverviewProps) {
  const { messages, format } = view;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{messages.networks.usage}</dt>
          <dd>
            {messages.networks.usageOf(
              format.number(network.usage.addresses_used),
              format.number(network.usage.addresses_total),
            )}
          </dd>
        </div>
        <LabelsFact view={view} labels={network.labels} list="/networks" />
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={network.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="network-id" text={network.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
