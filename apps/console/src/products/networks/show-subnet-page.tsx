import type { Child } from "hono/jsx";
import type { CalledOperation } from "../../api-operation.ts";
import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Copyable, When } from "../../layout/parts.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { LabelsPanel } from "../../resources/labels-panel.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { AddressTable, addressStates } from "./address-table.tsx";
import { subnetOverviewCalls, subnetSettingsCalls } from "./calls.ts";
import { SubnetSettings } from "./change-subnet-form.tsx";
import { whyNotChangeSubnet, whyNotDeleteSubnet } from "./disabled-reason.ts";
import type { SubnetOverviewProps, SubnetTabProps } from "./props.ts";
import { Reservations } from "./reservations-panel.tsx";
import { networks } from "./resource.ts";
import { headedSubnets } from "./subnet-head-part.tsx";
import { subnets } from "./subnet-resource.ts";
import { SubnetUse } from "./subnet-use-part.tsx";

/** The use of a subnet, its reservations, and what uses every address. */
export function SubnetOverviewPage(props: SubnetOverviewProps) {
  const { view, network, subnet, state, cursor } = props;
  const { messages, format } = view;
  const text = messages.subnet;
  const path = pageOf(subnets, subnet);
  const query = new URLSearchParams({
    ...(state === "" ? {} : { state }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  return (
    <SubnetPage
      {...props}
      tab="overview"
      calls={subnetOverviewCalls(props)}
      live={{ seconds: 6, query, gone: pageOf(networks, network) }}
    >
      <section class="panel" aria-labelledby="use-title">
        <div class="panel-head">
          <h2 id="use-title">{text.use}</h2>
        </div>
        <p class="panel-lead">{text.total(format.number(subnet.usage.addresses_total))}</p>
        <SubnetUse view={view} usage={subnet.usage} />
        {subnet.usage.addresses_free === 0 ? <p class="hint">{text.full}</p> : null}
      </section>
      <Reservations {...props} />
      <section class="panel" id="addresses" aria-labelledby="addresses-title">
        <div class="panel-head">
          <h2 id="addresses-title">{text.list}</h2>
        </div>
        <nav class="tabs" aria-label={text.state}>
          {(["", ...addressStates] as const).map((choice) => (
            <a
              href={`${choice === "" ? path : `${path}?state=${choice}`}#addresses`}
              aria-current={choice === state ? "true" : undefined}
            >
              {choice === "" ? text.allStates : text.states[choice]}
            </a>
          ))}
        </nav>
        <AddressTable {...props} />
      </section>
      <Facts view={view} subnet={subnet} />
    </SubnetPage>
  );
}

/** Its name, name servers and labels; deletion. */
export function SubnetSettingsPage(props: SubnetTabProps) {
  const { view, subnet, form, idempotencyKey } = props;
  const forms = { view, resource: subnets, item: subnet, form, idempotencyKey };
  return (
    <SubnetPage {...props} tab="settings" calls={subnetSettingsCalls(subnet)}>
      <Offered view={view} permission="network:update">
        <SubnetSettings {...props} />
        <LabelsPanel {...forms} why={whyNotChangeSubnet(view, subnet)} />
      </Offered>
      <Offered view={view} permission="network:delete">
        <DeletePanel {...forms} why={whyNotDeleteSubnet(view, subnet)} />
      </Offered>
    </SubnetPage>
  );
}

/** The frame of each tab: the header, below the network. */
function SubnetPage(
  props: SubnetTabProps & {
    readonly tab: "overview" | "settings";
    readonly calls: readonly CalledOperation[];
    readonly live?: { readonly seconds: number; readonly query: URLSearchParams; readonly gone: string };
    readonly children: Child;
  },
) {
  const { view, network, subnet, tab, banner, calls, live, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={subnets}
      item={subnet}
      head={headedSubnets.headOf(view, subnet, idempotencyKey)}
      tab={tab}
      banner={banner}
      calls={calls}
      parents={[
        { path: "/networks", text: view.messages.networks.title },
        { path: pageOf(networks, network), text: network.name },
      ]}
      {...(live === undefined ? {} : { live })}
    >
      {props.children}
    </ResourcePage>
  );
}

/** The subnet's record; the header has its tier and addresses. */
function Facts({ view, subnet }: Pick<SubnetTabProps, "view" | "subnet">) {
  const { messages } = view;
  const text = messages.networks;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{text.gateway}</dt>
          <dd class="mono">{subnet.gateway_ip}</dd>
        </div>
        <div>
          <dt>{messages.network.dns}</dt>
          <dd>
            {subnet.dns_servers.length === 0 ? (
              messages.network.noDns
            ) : (
              <span class="mono">{subnet.dns_servers.join(", ")}</span>
            )}
          </dd>
        </div>
        <div>
          <dt>{text.egressLabel}</dt>
          <dd>{text.egress[subnet.egress]}</dd>
        </div>
        <LabelsFact view={view} labels={subnet.labels} />
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={subnet.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="subnet-id" text={subnet.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
