import { Offered } from "../../layout/action-button.tsx";
import { EditLabels, LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, Copyable, PageHead, Status } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import { AttachedTo } from "./attached-to-part.tsx";
import { PublicIpCalls } from "./calls.tsx";
import { PublicIpSettings } from "./change-form.tsx";
import { DeletePublicIp } from "./delete-form.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { Placement } from "./placement-panel.tsx";
import type { PublicIpPageProps } from "./props.ts";
import { publicIps } from "./resource.ts";
import { toneOf } from "./status.ts";

/** One address: its attachment, and all actions on it. */
export function PublicIpPage(props: PublicIpPageProps) {
  const { view, ip, banner } = props;
  const text = view.messages.publicIps;
  return (
    <Shell view={view} title={ip.address} section="publicIps">
      <p class="crumbs">
        <a href="/public-ips">{text.all}</a>
      </p>
      <PageHead title={ip.address} lead={`IPv${ip.version} · ${ip.region}`} />
      <ResourceTabs view={view} resource={publicIps} item={ip} current="overview" />
      <PageNotice banner={banner} />
      <div
        id="public-ip-live"
        class="stack"
        data-poll=""
        data-gone="/public-ips?notice=gone"
        hx-get={`/public-ips/${ip.id}`}
        hx-trigger={`every ${ip.job_id === null ? 10 : 4}s, refresh`}
        hx-select="#public-ip-live"
        hx-swap="outerMorph"
      >
        <Overview {...props} />
        <Offered view={view} permission="public_ip:update">
          <Placement {...props} />
        </Offered>
        <Offered view={view} permission="public_ip:delete">
          <DeletePublicIp {...props} />
        </Offered>
      </div>
      <PublicIpCalls {...props} />
    </Shell>
  );
}

function Overview(props: PublicIpPageProps) {
  const { view, ip } = props;
  const { messages } = view;
  const text = messages.publicIps;
  return (
    <section class="panel" aria-labelledby="overview-title">
      <div class="panel-head">
        <h2 id="overview-title">{messages.resourceTabs.tabs.overview}</h2>
        <Status tone={toneOf(ip)}>{text.status[ip.status]}</Status>
      </div>
      {ip.status_reason === null ? null : (
        <Banner kind="problem">
          {messages.locale === "en" ? ip.status_reason.message : text.failed}
          {ip.status_reason.job_id === null ? null : (
            <>
              {" "}
              <a href={`/jobs/${ip.status_reason.job_id}`}>{text.failedJob}</a>
            </>
          )}
        </Banner>
      )}
      {ip.requires_reboot ? <Banner kind="warning">{text.requiresReboot}</Banner> : null}
      <dl class="facts">
        <div>
          <dt>{text.address}</dt>
          <dd>
            <Copyable view={view} id="public-ip-address" text={ip.address} />
          </dd>
        </div>
        <div>
          <dt>{text.server}</dt>
          <dd>
            <AttachedTo ip={ip} none={messages.common.none} />
            {ip.job_id === null ? null : (
              <>
                {" · "}
                <a href={`/jobs/${ip.job_id}`}>{text.job}</a>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{text.network}</dt>
          <dd class="mono">{`${ip.address}/${ip.prefix_length}`}</dd>
        </div>
        <div>
          <dt>{text.gateway}</dt>
          <dd class="mono">{ip.gateway}</dd>
        </div>
        <div>
          <dt>{text.ptr}</dt>
          <dd class="mono breakable">{ip.ptr ?? "–"}</dd>
        </div>
        <div>
          <dt>{text.withServer}</dt>
          <dd>{ip.delete_with_server ? text.released : text.kept}</dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="public-ip-id" text={ip.id} />
          </dd>
        </div>
        <LabelsFact view={view} labels={ip.labels} list="/public-ips" />
      </dl>
      <Offered view={view} permission="public_ip:update">
        <PublicIpSettings {...props} />
        <EditLabels
          view={view}
          resource={publicIps}
          item={ip}
          why={disabledReason(props, null)}
          form={props.form}
          idempotencyKey={props.idempotencyKey}
        />
      </Offered>
    </section>
  );
}
