import { noProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { inAddressOrder } from "../networks/subnet-order.ts";
import type { CreateGatewayPageProps } from "./props.ts";

/** The form of a gateway for one network. */
export function CreateGateway(props: CreateGatewayPageProps) {
  const { view, network, addresses, chosen, form, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.gateways;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" method="post" action="/gateways/new">
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
        autofocus={form === null || problems.name !== undefined}
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
  );
}
