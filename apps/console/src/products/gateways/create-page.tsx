import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { inAddressOrder } from "../networks/subnet-order.ts";

export type CreateGatewayPageProps = {
  readonly view: View;
  readonly network: Schemas["Network"];
  /** Free public IPv4 addresses of the network's region. */
  readonly addresses: readonly Pick<Schemas["PublicIp"], "id" | "address">[];
  /** Ids of the subnets that are chosen. */
  readonly chosen: readonly string[];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

/** A gateway for one network. Which of its subnets may get out is seen before anybody asks. */
export function CreateGatewayPage(props: CreateGatewayPageProps) {
  const { view, network, addresses, chosen, form, banner, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.gateways;
  const problems = form?.problems ?? noProblems;
  return (
    <Shell view={view} title={text.createTitle(network.name)} section="networks">
      <p class="crumbs">
        <a href={`/networks/${network.id}`}>{network.name}</a>
      </p>
      <PageHead title={text.createTitle(network.name)} lead={text.lead} />
      <PageNotice banner={banner} />
      <section class="panel">
        <form class="form" method="post" action="/gateways">
          <FormSeal view={view} idempotencyKey={idempotencyKey} />
          <input type="hidden" name="network_id" value={network.id} />
          <TextField
            view={view}
            name="name"
            label={messages.common.name}
            value={form?.values.name ?? ""}
            problems={problems}
            required
            mono
            maxlength={63}
          />
          <fieldset class="choice">
            <legend>{text.serves}</legend>
            <Problem name="subnet_ids" problems={problems.subnet_ids} />
            <div class="checks">
              {inAddressOrder(network.subnets).map(({ id, name, tier, cidr }) => (
                <label class="check">
                  <input
                    type="checkbox"
                    name="subnet_ids"
                    value={id}
                    checked={chosen.includes(id)}
                    disabled={tier === "data"}
                  />
                  <span>
                    <strong>{`${name} · ${cidr} · ${messages.networks.tiers[tier]}`}</strong>
                    {tier === "data" ? <small>{text.never}</small> : null}
                  </span>
                </label>
              ))}
            </div>
            <p class="hint">{network.subnets.length === 0 ? messages.networks.noSubnets : text.servesHint}</p>
          </fieldset>
          <SelectField
            name="public_ip"
            label={text.address}
            value={form?.values.public_ip ?? ""}
            prompt={text.anyAddress}
            options={addresses.map(({ id, address }) => ({ value: id, label: address }))}
            hint={text.addressHint}
            problems={problems}
          />
          <TextField
            view={view}
            name="description"
            label={messages.common.description}
            value={form?.values.description ?? ""}
            problems={problems}
            optional
            maxlength={500}
          />
          <MoreFields view={view} id="more-gateway" form={form} fields={["address", "labels"]}>
            <TextField
              view={view}
              name="address"
              label={text.certainAddress}
              value={form?.values.address ?? ""}
              hint={text.certainAddressHint}
              problems={problems}
              optional
              mono
              maxlength={15}
              attributes={{ inputmode: "decimal", placeholder: "203.0.113.7" }}
            />
            <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
          </MoreFields>
          <button type="submit" class="button" data-kind="primary">
            {text.create}
          </button>
        </form>
        <ApiCall
          view={view}
          id="create-call"
          operation="createGateway"
          body={{ name: "out", network_id: network.id, subnet_ids: chosen, labels: { env: "prod" } }}
        />
      </section>
    </Shell>
  );
}
