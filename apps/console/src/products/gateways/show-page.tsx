import type { Schemas } from "@kule/contract/schemas";
import { ActButton, Offered } from "../../layout/act-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { EditLabels, LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, Copyable, FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { SettingsForm } from "../../layout/settings-form.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { type RefusedForm, refusedForm } from "../../refused-form.ts";
import { GatewayCalls } from "./gateway-calls.tsx";
import { gatewayTones } from "./gateway-status.ts";
import { PortForwards } from "./port-forwards.tsx";
import { ServedSubnets } from "./served-subnets.tsx";
import { whyNot } from "./why-not.ts";

export type GatewayPageProps = {
  readonly view: View;
  readonly gateway: Schemas["Gateway"];
  readonly network: Schemas["Network"];
  readonly forwards: readonly Schemas["PortForward"][];
  /** Of the gateway's region. */
  readonly servers: readonly Schemas["Server"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export function GatewayPage(props: GatewayPageProps) {
  const { view, gateway, network, banner } = props;
  const { messages } = view;
  const text = messages.gateways;
  return (
    <Shell view={view} title={gateway.name} section="networks">
      <p class="crumbs">
        <a href="/gateways">{text.all}</a>
      </p>
      <PageHead title={gateway.name} {...(gateway.description === "" ? {} : { lead: gateway.description })} />
      <ResourceTabs view={view} kind="gateways" resource={gateway} current="overview" />
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
          <Offered view={view} permission="gateway:update">
            {" "}
            <SettingsForm
              view={view}
              page={`/gateways/${gateway.id}`}
              resource={gateway}
              why={whyNot(props, null)}
              form={props.form}
              idempotencyKey={props.idempotencyKey}
            />
            <EditLabels
              view={view}
              action={`/gateways/${gateway.id}/labels`}
              of="labels"
              labels={gateway.labels}
              why={whyNot(props, null)}
              form={props.form}
              idempotencyKey={props.idempotencyKey}
            />
          </Offered>
        </section>
        <ServedSubnets {...props} />
        <PortForwards {...props} />
        <Offered view={view} permission="gateway:delete">
          <DeleteGateway {...props} />
        </Offered>
      </div>
      <GatewayCalls {...props} />
    </Shell>
  );
}

function DeleteGateway(props: GatewayPageProps) {
  const { view, gateway, idempotencyKey } = props;
  const text = view.messages.gateways;
  const form = refusedForm(props.form, "delete");
  const why = whyNot(props, "delete");
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{text.danger}</h2>
      </div>
      <form
        class="danger-row"
        id="delete"
        method="post"
        action={`/gateways/${gateway.id}/delete`}
        {...(form === null ? {} : { "hx-morph-skip": "" })}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
        <div>
          <h3>{text.delete}</h3>
          <p class="hint">{text.deleteLead}</p>
          {why === null ? (
            <ConfirmName
              view={view}
              id="confirm-name"
              name={gateway.name}
              typed={form?.values.confirm_name ?? ""}
              problems={form?.problems.confirm_name}
            />
          ) : null}
        </div>
        <ActButton why={why} kind="danger">
          {text.delete}
        </ActButton>
      </form>
    </section>
  );
}
