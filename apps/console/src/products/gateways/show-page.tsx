import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Banner, Copyable, When } from "../../layout/parts.tsx";
import { ChangeForms } from "../../resources/change-forms.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { overviewCalls, settingsCalls } from "./calls.ts";
import { disabledReason } from "./disabled-reason.ts";
import { headedGateways } from "./head-part.tsx";
import { PortForwards } from "./port-forwards-panel.tsx";
import type { GatewayTabProps, OverviewProps } from "./props.ts";
import { gateways } from "./resource.ts";
import { ServedSubnets } from "./served-subnets-panel.tsx";

/** Its network, the subnets that it serves, and the ports that it forwards. */
export function OverviewPage(props: OverviewProps) {
  const { view, gateway, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={gateways}
      item={gateway}
      head={headedGateways.headOf(view, gateway, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(props)}
      live={{ seconds: 4, gone: "/gateways?notice=gone" }}
    >
      <StatusReason {...props} />
      <Facts {...props} />
      <ServedSubnets {...props} />
      <PortForwards {...props} />
    </ResourcePage>
  );
}

/** Its name, description and labels; deletion. */
export function SettingsPage(props: GatewayTabProps) {
  const { view, gateway, banner, idempotencyKey } = props;
  const forms = { view, resource: gateways, item: gateway, form: props.form, idempotencyKey };
  return (
    <ResourcePage
      view={view}
      resource={gateways}
      item={gateway}
      head={headedGateways.headOf(view, gateway, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(gateway)}
    >
      <ChangeForms {...forms} why={disabledReason(props, null)} />
      <Offered view={view} permission="gateway:delete">
        <DeletePanel {...forms} why={disabledReason(props, "delete")} />
      </Offered>
    </ResourcePage>
  );
}

function StatusReason({ view, gateway }: GatewayTabProps) {
  const { messages } = view;
  if (gateway.status_reason === null) return null;
  return (
    <Banner kind="problem">
      {messages.locale === "en" ? gateway.status_reason.message : messages.gateways.error}
    </Banner>
  );
}

/** The gateway's record; the header has its address and region. */
function Facts({ view, gateway, network }: OverviewProps) {
  const { messages } = view;
  const text = messages.gateways;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
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
        <LabelsFact view={view} labels={gateway.labels} list="/gateways" />
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={gateway.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="gateway-id" text={gateway.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
