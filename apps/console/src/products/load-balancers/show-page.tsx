import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Banner, Copyable, FormSeal, When } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { overviewCalls } from "./calls.ts";
import { disabledReason } from "./disabled-reason.ts";
import { headedLoadBalancers } from "./head-part.tsx";
import { Listeners } from "./listeners-panel.tsx";
import { Machines } from "./machines-panel.tsx";
import { pathModel } from "./path-model.ts";
import { PathMap } from "./path-part.tsx";
import type { OverviewProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";
import { reasonText } from "./status.ts";
import { Targets } from "./targets-panel.tsx";
import { Traffic } from "./traffic-panel.tsx";

/** The way of its traffic, its listeners and targets with their health, its machines, and what it has carried. */
export function OverviewPage(props: OverviewProps) {
  const { view, balancer, banner, idempotencyKey } = props;
  const text = view.messages.loadBalancers;
  return (
    <ResourcePage
      view={view}
      resource={loadBalancers}
      item={balancer}
      head={headedLoadBalancers.headOf(view, balancer, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(props)}
      live={{ seconds: 5, gone: "/load-balancers?notice=gone" }}
    >
      <StatusReason {...props} />
      <section class="panel" aria-labelledby="path-title">
        <div class="panel-head">
          <h2 id="path-title">{text.path.title}</h2>
        </div>
        <PathMap view={view} model={pathModel(props)} />
      </section>
      <Listeners {...props} />
      <Targets {...props} />
      <Machines {...props} />
      <Traffic {...props} />
      <Facts {...props} />
    </ResourcePage>
  );
}

/** Why it is not as it should be, and the way out. */
function StatusReason({ view, balancer, idempotencyKey }: OverviewProps) {
  const { status_reason: reason } = balancer;
  if (reason === null) return null;
  const text = view.messages.loadBalancers;
  return (
    <Banner kind={balancer.status === "error" ? "problem" : "warning"}>
      <p>
        {reasonText(view, reason)}
        {reason.job_id === null ? null : (
          <>
            {" "}
            <a href={`/jobs/${reason.job_id}`}>{text.failedJob}</a>
          </>
        )}
      </p>
      {reason.code === "machine_silent" ? null : (
        <Offered view={view} permission="load_balancer:write">
          <form method="post" action={`${pageOf(loadBalancers, balancer)}/apply`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-apply`} />
            <ActionButton why={disabledReason(view, balancer, "apply")}>{text.apply}</ActionButton>
          </form>
        </Offered>
      )}
    </Banner>
  );
}

/** The load balancer's record; the header has its address and region. */
function Facts({ view, balancer, network }: OverviewProps) {
  const { messages } = view;
  const text = messages.loadBalancers;
  const subnet = network.subnets.find(({ id }) => id === balancer.subnet_id);
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{text.network}</dt>
          <dd>
            <a href={`/networks/${balancer.network_id}`}>{network.name}</a>
            {subnet === undefined ? null : (
              <>
                {" · "}
                <a href={`/networks/${balancer.network_id}/subnets/${subnet.id}`}>{subnet.name}</a>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{text.privateIp}</dt>
          <dd class="mono">{balancer.private_ip ?? "–"}</dd>
        </div>
        <div>
          <dt>{text.publicIp}</dt>
          <dd>
            {balancer.public_ip === null ? (
              messages.common.none
            ) : (
              <a class="mono" href={`/public-ips/${balancer.public_ip.id}`}>
                {balancer.public_ip.address}
              </a>
            )}
          </dd>
        </div>
        <div>
          <dt>{text.algorithm}</dt>
          <dd>{text.algorithms[balancer.algorithm]}</dd>
        </div>
        <div>
          <dt>{text.size}</dt>
          <dd>{`${balancer.package.toUpperCase()} · ${balancer.ha ? text.onTwo : text.onOne}`}</dd>
        </div>
        {balancer.job_id === null ? null : (
          <div>
            <dt>{text.job}</dt>
            <dd>
              <a href={`/jobs/${balancer.job_id}`}>{text.jobLink}</a>
            </dd>
          </div>
        )}
        <LabelsFact view={view} labels={balancer.labels} list="/load-balancers" />
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={balancer.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="load-balancer-id" text={balancer.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
