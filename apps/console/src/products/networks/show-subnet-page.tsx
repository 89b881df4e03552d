import { Offered } from "../../layout/action-button.tsx";
import { EditLabels, LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Copyable, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { AddressTable, addressStates } from "./address-table.tsx";
import { SubnetSettings } from "./change-subnet-form.tsx";
import { whyNotChangeSubnet, whyNotDeleteSubnet } from "./disabled-reason.ts";
import type { SubnetPageProps } from "./props.ts";
import { Reservations } from "./reservations-panel.tsx";
import { networkTones } from "./status.ts";
import { SubnetCalls } from "./subnet-calls.tsx";
import { subnets } from "./subnet-resource.ts";
import { SubnetUse } from "./subnet-use-part.tsx";

/** One subnet: its use, its reservations, and what uses every address. */
export function SubnetPage(props: SubnetPageProps) {
  const { view, network, subnet, state, cursor, banner } = props;
  const { messages, format } = view;
  const text = messages.subnet;
  const path = `/networks/${network.id}/subnets/${subnet.id}`;
  const query = new URLSearchParams({
    ...(state === "" ? {} : { state }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  return (
    <Shell view={view} title={subnet.name} section="networks">
      <p class="crumbs">
        <a href={`/networks/${network.id}`}>{network.name}</a>
      </p>
      <PageHead title={subnet.name} lead={text.lead(messages.networks.tiers[subnet.tier], subnet.cidr)} />
      <PageNotice banner={banner} />
      <div
        id="subnet-live"
        class="stack"
        data-poll=""
        data-gone={`/networks/${network.id}`}
        hx-get={query.size === 0 ? path : `${path}?${query}`}
        hx-trigger="every 6s, refresh"
        hx-select="#subnet-live"
        hx-swap="outerMorph"
      >
        <section class="panel" aria-labelledby="use-title">
          <div class="panel-head">
            <h2 id="use-title">{text.use}</h2>
            <Status tone={networkTones[subnet.status]}>{messages.networks.status[subnet.status]}</Status>
          </div>
          <p class="panel-lead">{text.total(format.number(subnet.usage.addresses_total))}</p>
          <SubnetUse view={view} usage={subnet.usage} />
          {subnet.usage.addresses_free === 0 ? <p class="hint">{text.full}</p> : null}
          <Facts view={view} subnet={subnet} />
          <Offered view={view} permission="network:update">
            <SubnetSettings {...props} />
            <EditLabels
              view={view}
              resource={subnets}
              item={subnet}
              why={whyNotChangeSubnet(view, subnet)}
              form={props.form}
              idempotencyKey={props.idempotencyKey}
            />
          </Offered>
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
        <Offered view={view} permission="network:delete">
          <DeletePanel
            view={view}
            resource={subnets}
            item={subnet}
            why={whyNotDeleteSubnet(view, subnet)}
            form={props.form}
            idempotencyKey={props.idempotencyKey}
          />
        </Offered>
      </div>
      <SubnetCalls {...props} />
    </Shell>
  );
}

function Facts({ view, subnet }: Pick<SubnetPageProps, "view" | "subnet">) {
  const { messages } = view;
  const { networks } = messages;
  return (
    <dl class="facts">
      <div>
        <dt>{networks.cidr}</dt>
        <dd>
          <Copyable view={view} id="subnet-cidr" text={subnet.cidr} />
        </dd>
      </div>
      <div>
        <dt>{networks.gateway}</dt>
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
        <dt>{networks.egressLabel}</dt>
        <dd>{networks.egress[subnet.egress]}</dd>
      </div>
      <div>
        <dt>{messages.common.id}</dt>
        <dd>
          <Copyable view={view} id="subnet-id" text={subnet.id} />
        </dd>
      </div>
      <LabelsFact view={view} labels={subnet.labels} />
    </dl>
  );
}
