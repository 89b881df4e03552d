import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Copyable, PageHead, Status } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import { ChangeForms } from "../../resources/change-forms.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { may } from "../../session.ts";
import { NetworkCalls } from "./calls.tsx";
import { CreateSubnet } from "./create-subnet-form.tsx";
import { whyNotDeleteNetwork } from "./disabled-reason.ts";
import { ExplainPanel } from "./explain-panel.tsx";
import { mapModel } from "./map-model.ts";
import { NetworkMap } from "./map-part.tsx";
import type { NetworkPageProps } from "./props.ts";
import { networks } from "./resource.ts";
import { networkTones } from "./status.ts";
import { ServersTable, SubnetsTable } from "./subnets-panel.tsx";

export function NetworkPage(props: NetworkPageProps) {
  const { view, network, subnets, places, gateway, banner } = props;
  const { messages, session } = view;
  const text = messages.network;
  const mayCreate = session === null || may(session, "network:create");
  return (
    <Shell view={view} title={network.name} section="networks">
      <p class="crumbs">
        <a href="/networks">{text.all}</a>
      </p>
      <PageHead title={network.name} {...(network.description === "" ? {} : { lead: network.description })} />
      <ResourceTabs view={view} resource={networks} item={network} current="overview" />
      <PageNotice banner={banner} />
      <div
        id="network-live"
        class="stack"
        data-poll=""
        data-gone="/networks"
        hx-get={`/networks/${network.id}`}
        hx-trigger="every 6s, refresh"
        hx-select="#network-live"
        hx-swap="outerMorph"
      >
        <section class="panel" aria-labelledby="map-title">
          <div class="panel-head">
            <h2 id="map-title">{messages.networkMap.title}</h2>
            <Status tone={networkTones[network.status]}>{messages.networks.status[network.status]}</Status>
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
        <section class="panel" aria-labelledby="subnets-title">
          <div class="panel-head">
            <h2 id="subnets-title">{text.subnets}</h2>
          </div>
          <SubnetsTable {...props} />
          {mayCreate ? <CreateSubnet {...props} /> : null}
        </section>
        <ServersTable {...props} />
      </div>
      <ExplainPanel view={view} network={network} subnets={subnets} places={places} asked={props.asked} />
      <Facts {...props} />
      <Offered view={view} permission="network:delete">
        <DeletePanel
          view={view}
          resource={networks}
          item={network}
          why={whyNotDeleteNetwork(view, subnets)}
          form={props.form}
          idempotencyKey={props.idempotencyKey}
        />
      </Offered>
      <NetworkCalls {...props} />
    </Shell>
  );
}

function Facts(props: NetworkPageProps) {
  const { view, network } = props;
  const { messages, format } = view;
  const text = messages.network;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{text.facts}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{messages.networks.cidr}</dt>
          <dd>
            <Copyable view={view} id="network-cidr" text={network.cidr} />
          </dd>
        </div>
        <div>
          <dt>{messages.networks.usage}</dt>
          <dd>
            {messages.networks.usageOf(
              format.number(network.usage.addresses_used),
              format.number(network.usage.addresses_total),
            )}
          </dd>
        </div>
        <div>
          <dt>{messages.common.region}</dt>
          <dd>{network.region}</dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="network-id" text={network.id} />
          </dd>
        </div>
        <LabelsFact view={view} labels={network.labels} list="/networks" />
      </dl>
      <ChangeForms
        view={view}
        resource={networks}
        item={network}
        why={null}
        form={props.form}
        idempotencyKey={props.idempotencyKey}
      />
    </section>
  );
}
