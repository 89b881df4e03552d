import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/act-button.tsx";
import { EditLabels, LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Copyable, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { AddressTable, addressStates } from "./address-table.tsx";
import { DeleteSubnet } from "./delete-subnet.tsx";
import { networkTones } from "./network-status.ts";
import { Reservations } from "./reservations.tsx";
import { SubnetCalls } from "./subnet-calls.tsx";
import { SubnetSettings } from "./subnet-settings.tsx";
import { SubnetUse } from "./subnet-use.tsx";
import { whyNotChangeSubnet } from "./why-not.ts";

export type SubnetPageProps = {
  readonly view: View;
  readonly network: Schemas["Network"];
  readonly subnet: Schemas["Subnet"];
  readonly reservations: readonly Schemas["Reservation"][];
  readonly addresses: Schemas["SubnetAddressList"];
  /** The one that is shown alone; all without it. */
  readonly state: Schemas["AddressState"] | "";
  readonly cursor: string | undefined;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

/** One subnet: how full it is, what is kept in it, and whose every address is. */
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
              action={`${path}/labels`}
              of="labels"
              labels={subnet.labels}
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
          <DeleteSubnet {...props} />
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
