import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Banner, Copyable, When } from "../../layout/parts.tsx";
import { LabelsPanel } from "../../resources/labels-panel.tsx";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { AttachedTo } from "./attached-to-part.tsx";
import { overviewCalls, settingsCalls } from "./calls.ts";
import { PublicIpSettings } from "./change-form.tsx";
import { DeletePublicIp } from "./delete-form.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { headedPublicIps } from "./head-part.tsx";
import { Placement } from "./placement-panel.tsx";
import type { OverviewProps, PublicIpTabProps } from "./props.ts";
import { publicIps } from "./resource.ts";

/** Where it is, and its record. */
export function OverviewPage(props: OverviewProps) {
  const { view, ip, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={publicIps}
      item={ip}
      head={headedPublicIps.headOf(view, ip, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(props)}
      live={{ seconds: ip.job_id === null ? 10 : 4, gone: "/public-ips?notice=gone" }}
    >
      <Warnings {...props} />
      <Facts {...props} />
      <Offered view={view} permission="public_ip:update">
        <Placement {...props} />
      </Offered>
    </ResourcePage>
  );
}

/** Its PTR name, protection and labels; its release. */
export function SettingsPage(props: PublicIpTabProps) {
  const { view, ip, form, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={publicIps}
      item={ip}
      head={headedPublicIps.headOf(view, ip, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(ip)}
    >
      <Offered view={view} permission="public_ip:update">
        <PublicIpSettings {...props} />
        <LabelsPanel
          view={view}
          resource={publicIps}
          item={ip}
          why={disabledReason(props, null)}
          form={form}
          idempotencyKey={idempotencyKey}
        />
      </Offered>
      <Offered view={view} permission="public_ip:delete">
        <DeletePublicIp {...props} />
      </Offered>
    </ResourcePage>
  );
}

/** Why it failed, and whether its server must restart. */
function Warnings({ view, ip }: OverviewProps) {
  const { messages } = view;
  const text = messages.publicIps;
  return (
    <>
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
    </>
  );
}

/** The address's record; the header has its version and region. */
function Facts({ view, ip }: OverviewProps) {
  const { messages } = view;
  const text = messages.publicIps;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
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
          <dd>
            <span class="mono breakable">{ip.reverse_name ?? "–"}</span>
            {ip.ptr !== null || ip.reverse_name === null ? null : (
              <>
                {" "}
                <span class="hint">{text.ptrOfPool}</span>
              </>
            )}
            {ip.ptr_status === "none" ? null : (
              <>
                {" "}
                <span class="hint">{text.ptrStatus[ip.ptr_status]}</span>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{text.withServer}</dt>
          <dd>{ip.delete_with_server ? text.released : text.kept}</dd>
        </div>
        <LabelsFact view={view} labels={ip.labels} list="/public-ips" />
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={ip.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="public-ip-id" text={ip.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
