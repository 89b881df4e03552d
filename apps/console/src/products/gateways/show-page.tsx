import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, Copyable, PageHead, Status } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import { ChangeForms } from "../../resources/change-forms.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { GatewayCalls } from "./calls.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { PortForwards } from "./port-forwards-panel.tsx";
import type { GatewayPageProps } from "./props.ts";
import { gateways } from "./resource.ts";
import { ServedSubnets } from "./served-subnets-panel.tsx";
import { gatewayTones } from "./status.ts";

export function GatewayPage(props: GatewayPageProps) {
  const { view, gateway, network, banner } = props;
  const { messages } = view;
  const text = messages.gateways;
  return (
    <Shell view={view} title={gateway.name} section="gateways">
      <p class="crumbs">
        <a href="/gateways">{text.all}</a>
      </p>
      <PageHead title={gateway.name} {...(gateway.description === "" ? {} : { lead: gateway.description })} />
      <ResourceTabs view={view} resource={gateways} item={gateway} current="overview" />
      <PageNotice banner={banner} />
      <div
        id="gateway-live"
        class="stack"
        data-poll=""
        data-gone="/gateways?notice=gone"
        hx-get={`/gateways/${gateway.id}`}
        hx-trigger="every 4s, refresh"
        hx-select="#gateway-live"
        hx-swap="outerMorph"
      >
        <section class="panel" aria-labelledby="overview-title">
          <div class="panel-head">
            <h2 id="overview-title">{text.overview}</h2>
            <Status tone={gatewayTones[gateway.status]}>{text.status[gateway.status]}</Status>
          </div>
          {gateway.status_reason === null ? null : (
            <Banner kind="problem">
              <p>{messages.locale === "en" ? gateway.status_reason.message : text.error}</p>
            </Banner>
          )}
          <dl class="facts">
            <div>
              <dt>{text.address}</dt>
              <dd>
                <Copyable view={view} id="gateway-address" text={gateway.public_ip.address} />
              </dd>
            </div>
            <div>
              <dt>{text.network}</dt>
              <dd>
                <a href={`/networks/${gateway.network_id}`}>{network.name}</a>
                {gateway.job_id === null ? null : (
                  <>
                    {" · "}
                    <a href={`/jobs/${gateway.job_id}`}>{text.job}</a>
                  </>
                )}
              </dd>
            </div>
            <div>
              <dt>{messages.common.region}</dt>
              <dd>{gateway.region}</dd>
            </div>
            <div>
              <dt>{messages.common.id}</dt>
              <dd>
                <Copyable view={view} id="gateway-id" text={gateway.id} />
              </dd>
            </div>
            <LabelsFact view={view} labels={gateway.labels} list="/gateways" />
          </dl>
          <ChangeForms
            view={view}
            resource={gateways}
            item={gateway}
            why={disabledReason(props, null)}
            form={props.form}
            idempotencyKey={props.idempotencyKey}
          />
        </section>
        <ServedSubnets {...props} />
        <PortForwards {...props} />
        <Offered view={view} permission="gateway:delete">
          <DeletePanel
            view={view}
            resource={gateways}
            item={gateway}
            why={disabledReason(props, "delete")}
            form={props.form}
            idempotencyKey={props.idempotencyKey}
          />
        </Offered>
      </div>
      <GatewayCalls {...props} />
    </Shell>
  );
}
